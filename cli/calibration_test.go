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
		r := &rec.Rows[i]
		if made.Slower[r.Name] < 2 {
			continue
		}
		series := rec.SeriesOf(r)
		r.Contender = slowedName(0.05)
		r.Name = r.Case + "/" + r.Contender
		for _, s := range series {
			s.Row = r.Name
		}
	}
	few := rec.Cases()[16:]
	rec.Blocks = slices.DeleteFunc(rec.Blocks, func(b record.Block) bool { return b.Number > 3 && slices.Contains(few, b.Case) })
	return rec
}

// The gate finds what was slowed, and nothing in equal code, of a run of 16 rows.
func TestCalibrationGate(t *testing.T) {
	counts := func(c *calibrationForm) (all [][3]int) {
		for _, s := range c.Sizes {
			all = append(all, [3]int{s.Regressed.Count, s.Passed.Count, s.Regressed.Of})
		}
		return all
	}
	if c := calibrationOf(calibrated(0)); !slices.Equal(counts(c), [][3]int{{0, 16, 16}, {4, 0, 4}}) || c.Sizes[1].By != 0.05 || c.Comparisons != 16 {
		t.Errorf("equal code, and four rows slowed by 5%%: %+v", c)
	}
	// One that is not equal is found, as different too, and its interval does not contain 1.
	c := calibrationOf(calibrated(10))
	if equal := c.Sizes[0]; !slices.Equal(counts(c), [][3]int{{1, 15, 16}, {4, 0, 4}}) || equal.Different.Count < 1 || equal.Contained.Count > 15 {
		t.Errorf("a control that is 10%% slower: %+v", c)
	}
}
