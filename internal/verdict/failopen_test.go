package verdict_test

import (
	"math/rand/v2"
	"testing"

	"postage/internal/test/recordtest"
	"postage/internal/verdict"
	"postage/record"
)

// A control that was lost does not let a slower row pass.
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
	c := verdict.ComparePaired(rec, verdict.DefaultThresholds())
	if r := change(t, c, row); r.Outcome != verdict.Regressed {
		t.Errorf("ten times slower without a control: %s", r.Outcome)
	}
}

// slowOld multiplies the times of a row's old version by a factor.
func slowOld(rec *record.Record, row string, factor float64) {
	for i := range rec.Blocks {
		if s := rec.Blocks[i].Of(row + "/rev=abc1234"); s != nil {
			for j := range s.WallNS {
				s.WallNS[j] = int64(factor * float64(s.WallNS[j]))
			}
		}
	}
}

// Code that waits longer uses no more CPU time: the gate finds it by wall time.
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
	c := verdict.ComparePaired(rec, verdict.DefaultThresholds())
	if r := change(t, c, row); r.Outcome != verdict.Regressed || r.Ratio.Value < 1.9 {
		t.Errorf("twice the wall time: %s, %+v", r.Outcome, r.Ratio)
	}
	for i := range c.Rows {
		if c.Rows[i].New.Row.Name != row && c.Rows[i].Outcome == verdict.Regressed {
			t.Errorf("%s regressed", c.Rows[i].New.Row.Name)
		}
	}
}

// A row that a run had no time for does not pass, though its case was measured.
func TestRowsWithoutTimeDoNotPass(t *testing.T) {
	run := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 1, Blocks: 20}
	rec := run.Record()
	recordtest.Against(rec, 1)
	if outcome := verdict.ComparePaired(rec, verdict.DefaultThresholds()).Outcome(); outcome != verdict.Passed {
		t.Fatalf("equal code: %s", outcome)
	}
	for i := range rec.Rows {
		if r := &rec.Rows[i]; r.Contender == "codec=c" || r.OldOf == "Encode/msg=0/op=encode/codec=c" {
			r.Proof = record.ProofNotMeasured + "there was no time for it"
		}
	}
	if c := verdict.ComparePaired(rec, verdict.DefaultThresholds()); c.Outcome() != verdict.Inconclusive || c.Recipe() == "" {
		t.Errorf("a row left out: %s, recipe %q", c.Outcome(), c.Recipe())
	}
}
