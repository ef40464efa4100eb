package lab

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"postage/record"
	"postage/record/recordtest"
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
func TestCalibrateGate(t *testing.T) {
	g := CalibrateGate(calibrated(0), 8, 8)
	if g.Runs != 2 || g.Failed != 0 || g.Rows != 16 || g.Passed != 16 {
		t.Errorf("equal code: %+v", g)
	}
	if !slices.Equal(g.Slowed, []int{0, 0, 0, 4}) || !slices.Equal(g.Regressed, []int{0, 0, 0, 4}) {
		t.Errorf("slowed by 5%%: %+v", g)
	}
	// One that is not equal makes its run fail.
	if g := CalibrateGate(calibrated(10), 8, 8); g.Runs != 2 || g.Failed != 1 || g.Passed != 15 {
		t.Errorf("a control that is 10%% slower: %+v", g)
	}
}
