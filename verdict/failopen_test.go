package verdict

import (
	"math"
	"math/rand/v2"
	"testing"

	"postage/record"
	"postage/record/recordtest"
)

// Of many rows of a case, one that is ten times slower is confirmed by the few blocks that
// there is time for: the others of its case, which nobody asked about again, do not count.
func TestConfirmsOneOfManyRows(t *testing.T) {
	const row = "Encode/msg=0/op=encode/codec=c"
	whole := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 4, Blocks: 20, Slower: map[string]float64{row: 10}}
	rec := whole.Record()
	recordtest.Against(rec, 1)
	slowOld(rec, row, 0.1)
	c := ComparePaired(rec, DefaultThresholds())
	if change(t, c, row).Outcome != Regressed {
		t.Fatalf("%+v", change(t, c, row))
	}
	few := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 2)), Cases: 4, Blocks: 6, Slower: whole.Slower}
	fresh := few.Record()
	recordtest.Against(fresh, 1)
	slowOld(fresh, row, 0.1)
	c.Confirm(fresh)
	if r := change(t, c, row); r.Outcome != Regressed {
		t.Errorf("ten times slower, 6 blocks: %s, p %.3f", r.Outcome, r.Fresh.P)
	}
}

// What could not be measured again, or in too few blocks for any finding, stays regressed.
func TestWhatIsNotMeasuredAgainStaysRegressed(t *testing.T) {
	const row = "Encode/msg=0/op=encode/codec=c"
	for _, blocks := range []int{0, 4} {
		whole := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 1, Blocks: 20}
		rec := whole.Record()
		recordtest.Against(rec, 1)
		slowOld(rec, row, 0.1)
		c := ComparePaired(rec, DefaultThresholds())
		few := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 2)), Cases: 1, Blocks: blocks}
		fresh := few.Record()
		recordtest.Against(fresh, 1)
		c.Confirm(fresh)
		if r := change(t, c, row); r.Outcome != Regressed || len(c.Warnings) == 0 {
			t.Errorf("%d fresh blocks: %s, %v", blocks, r.Outcome, c.Warnings)
		}
	}
}

// A control that was lost says nothing of the noise; it does not let a slower row pass.
func TestLostControlHidesNothing(t *testing.T) {
	const row = "Encode/msg=0/op=encode/codec=c"
	run := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 1, Blocks: 20}
	rec := run.Record()
	recordtest.Against(rec, 1)
	slowOld(rec, row, 0.1)
	for i := range rec.Rows {
		if rec.Rows[i].Role == "control" {
			rec.Rows[i].Proof = "failed: lost"
		}
	}
	c := ComparePaired(rec, DefaultThresholds())
	if r := change(t, c, row); r.Outcome != Regressed || !math.IsInf(r.Noise, 1) {
		t.Errorf("ten times slower without a control: %s, noise %v", r.Outcome, r.Noise)
	}
	if len(c.Warnings) == 0 {
		t.Error("nobody is told that the control was lost")
	}
}

// slowOld makes the old self of a row take a part of what it took.
func slowOld(rec *record.Record, row string, factor float64) {
	for i := range rec.Blocks {
		if s := rec.Blocks[i].Of(row + "/rev=abc1234"); s != nil {
			for j := range s.WallNS {
				s.WallNS[j] = int64(factor * float64(s.WallNS[j]))
			}
		}
	}
}

// What waits longer uses no more of the processor: the gate finds it by wall time.
func TestGateFindsWaiting(t *testing.T) {
	const row = "Encode/msg=0/op=encode/codec=c"
	run := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 1, Blocks: 20}
	rec := alone(run.Record(), func(string, int, *int64, *int64) {})
	recordtest.Against(rec, 1)
	for i := range rec.Blocks {
		for j, ns := range rec.Blocks[i].Of(row).WallNS {
			rec.Blocks[i].Of(row).WallNS[j] = 2 * ns
		}
	}
	c := ComparePaired(rec, DefaultThresholds())
	if r := change(t, c, row); r.Outcome != Regressed || r.Ratio.Value < 1.9 {
		t.Errorf("twice the wall time: %s, %+v", r.Outcome, r.Ratio)
	}
	for i := range c.Rows {
		if c.Rows[i].New.Row.Name != row && c.Rows[i].Outcome == Regressed {
			t.Errorf("%s regressed", c.Rows[i].New.Row.Name)
		}
	}
}
