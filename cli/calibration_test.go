package cli

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"postage/internal/test/recordtest"
	"postage/record"
)

// calibrated is the record of a calibration of 20 comparisons, 16 of them with enough blocks. Four
// of these have a contender that is 5% slower, and one a control that is slower by so many percent.
func calibrated(control float64) *record.Record {
	made := recordtest.Run{Rand: rand.New(rand.NewPCG(3, 5)), Cases: 20, Blocks: 16, Slower: map[string]float64{}}
	row := func(i int, code string) string { return fmt.Sprintf("Encode/msg=%d/op=encode/codec=%s", i, code) }
	for i := range 4 {
		made.Slower[row(i, "a")] = 1050.0 / 300
	}
	made.Slower[row(9, "control")] = 1 + control/100
	rec := made.Record()
	for i := range rec.Rows {
		if name := rec.Rows[i].Name; made.Slower[name] > 2 {
			rec.Rows[i].Contender = slowedName(0.05)
		}
	}
	few := rec.Cases()[16:]
	rec.Blocks = slices.DeleteFunc(rec.Blocks, func(b record.Block) bool { return b.Number > 3 && slices.Contains(few, b.Case) })
	return rec
}

// The gate finds what was slowed, and nothing in equal code, each of two runs of eight rows.
func TestCalibrationGate(t *testing.T) {
	counts := func(g gateForm) [6]int {
		return [6]int{g.Failed.Count, g.Failed.Of, g.Passed.Count, g.Passed.Of, g.Slowdowns[0].Found.Count, g.Slowdowns[0].Found.Of}
	}
	if g := calibrationGate(calibrated(0), 8); counts(g) != [6]int{0, 2, 16, 16, 4, 4} || len(g.Slowdowns) != 1 || g.Slowdowns[0].By != 0.05 {
		t.Errorf("equal code, and four rows slowed by 5%%: %+v", g)
	}
	// One that is not equal makes its run fail.
	if g := calibrationGate(calibrated(10), 8); counts(g) != [6]int{1, 2, 15, 16, 4, 4} {
		t.Errorf("a control that is 10%% slower: %+v", g)
	}
}
