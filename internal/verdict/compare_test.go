package verdict_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"postage/internal/test/recordtest"
	"postage/internal/verdict"
	"postage/record"
)

func change(t *testing.T, c *verdict.Changes, row string) *verdict.Change {
	t.Helper()
	for _, r := range c.Rows {
		if r.New.Row.Name == row {
			return r
		}
	}
	t.Fatalf("no row %s", row)
	return nil
}

// Between two runs a row gets a verdict if its whole interval is beyond 5%, and is never gated,
// however slow: rows of the same code move that much with the state of the machine. The baseline
// gets none, and a change of its version is reported.
func TestTwoRunsAreAdvice(t *testing.T) {
	const base = "Encode/msg=0/op=encode/codec=base"
	slower := map[string]float64{"Encode/msg=0/op=encode/codec=a": 1.2, "Encode/msg=0/op=encode/codec=b": 0.8, "Encode/msg=0/op=encode/codec=c": 1.055}
	old := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 2)), Cases: 1, Blocks: 14, Modules: map[string]string{"codec=base": "m v1"}}
	now := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 3)), Cases: 1, Blocks: 14, Slower: slower, Modules: map[string]string{"codec=base": "m v2"}}
	c := verdict.CompareRecords(old.Record(), now.Record(), verdict.DefaultThresholds())
	for name, want := range map[string]verdict.Verdict{"a": verdict.Slower, "b": verdict.Faster, "c": verdict.Undecided, "d": verdict.Undecided, "base": verdict.Undecided} {
		r := change(t, c, "Encode/msg=0/op=encode/codec="+name)
		if f := slower[r.New.Row.Name]; f != 0 && math.Abs(r.Ratio.Value/f-1) > 0.03 || r.Verdict != want || r.Outcome != verdict.NotGated || r.Time != verdict.NotGated {
			t.Errorf("%s: %s, %s, %+v", name, r.Verdict, r.Outcome, r.Ratio)
		}
		if anchor := map[bool]string{true: "", false: "codec=base"}[name == "base"]; r.Anchor != anchor {
			t.Errorf("%s: anchor %q", name, r.Anchor)
		}
	}
	if c.Outcome() != verdict.NotGated || len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "its baseline was m v1 and is now m v2") {
		t.Errorf("%s, warnings %v", c.Outcome(), c.Warnings)
	}
	now.Slower = map[string]float64{base: 3, "Encode/msg=0/op=encode/codec=control": 3}
	if r := change(t, verdict.CompareRecords(old.Record(), now.Record(), verdict.DefaultThresholds()), base); r.Verdict != verdict.Undecided || r.Outcome != verdict.NotGated {
		t.Errorf("a baseline that takes three times as long: %s %s", r.Verdict, r.Outcome)
	}
}

// The intervals of two runs of the same code hold, in 95% of rows less what is chance.
func TestTwoRunsHold(t *testing.T) {
	rng, rows, missed := rand.New(rand.NewPCG(7, 5)), 0, 0
	for range 60 {
		old, now := &recordtest.Run{Rand: rng, Cases: 1, Blocks: 8}, &recordtest.Run{Rand: rng, Cases: 1, Blocks: 14}
		for _, r := range verdict.CompareRecords(old.Record(), now.Record(), verdict.DefaultThresholds()).Rows {
			if r.Anchor == "" {
				continue // the baseline, whose time is its run's
			}
			rows++
			if !r.Ratio.Contains(1) {
				missed++
			}
		}
	}
	if missed == 0 || float64(missed) > 0.08*float64(rows) {
		t.Errorf("%d of %d intervals miss", missed, rows)
	}
}

// One allocation or byte more is a regression, whatever the time; what differs from
// block to block is not.
func TestCountsAreExact(t *testing.T) {
	const row = "Encode/msg=0/op=encode/codec=a"
	old := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 6)), Cases: 1, Blocks: 10}
	now := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 6)), Cases: 1, Blocks: 10, Allocs: map[string]int64{row: 1}}
	c := verdict.CompareRecords(old.Record(), now.Record(), verdict.DefaultThresholds())
	if r := change(t, c, row); r.Time != verdict.NotGated || r.Outcome != verdict.Regressed || r.Counts[0] != (verdict.Count{"allocs", "allocs/op", 2, 3, verdict.Regressed}) {
		t.Errorf("%+v", r)
	}
	allowed := verdict.DefaultThresholds()
	allowed.Allocs = 0.5
	now.Rand, old.Rand = rand.New(rand.NewPCG(7, 6)), rand.New(rand.NewPCG(7, 6))
	if r := change(t, verdict.CompareRecords(old.Record(), now.Record(), allowed), row); r.Outcome != verdict.NotGated {
		t.Errorf("one of two more, 50%% allowed: %v", r.Outcome)
	}
	a, b := old.Record(), old.Record()
	for i := range 10 {
		for k := range 12 { // 64 bytes an operation, which are 63.98 and 64.02
			a.Blocks[i].Of(row).Bytes[k], b.Blocks[i].Of(row).Bytes[k] = 6398, 6402
		}
	}
	if r := change(t, verdict.CompareRecords(a, b, verdict.DefaultThresholds()), row); r.Outcome != verdict.NotGated {
		t.Errorf("a twenty-fifth of a byte more regressed: %+v", r.Counts)
	}
	a, b = now.Record(), now.Record()
	b.Row(row).Metrics["encoded-bytes"] = 378
	if r := change(t, verdict.CompareRecords(a, b, verdict.DefaultThresholds()), row); r.Outcome != verdict.Regressed {
		t.Error("a larger encoding passed")
	}
}

// Runs whose seeds differ had other inputs: the sizes of those say nothing about the code.
func TestOtherInputs(t *testing.T) {
	const row = "Encode/msg=0/op=encode/codec=a"
	s := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 6)), Cases: 1, Blocks: 10}
	old, now := s.Record(), s.Record()
	now.Row(row).Metrics["encoded-bytes"] = 378
	if c := verdict.CompareRecords(old, now, verdict.DefaultThresholds()); len(c.Warnings) != 0 || change(t, c, row).Outcome != verdict.Regressed {
		t.Errorf("the same seed: %q, %+v", c.Warnings, change(t, c, row))
	}
	now.Run.Seed = 7
	c := verdict.CompareRecords(old, now, verdict.DefaultThresholds())
	if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "seed 1, new with 7: their inputs differ") || change(t, c, row).Outcome != verdict.NotGated {
		t.Errorf("another seed: %q, %+v", c.Warnings, change(t, c, row))
	}
	now.Run.Seed, now.Run.GOMAXPROCS = old.Run.Seed, 1
	if c := verdict.CompareRecords(old, now, verdict.DefaultThresholds()); !strings.Contains(c.Warnings[0], "GOMAXPROCS 2, new with 1") || change(t, c, row).Outcome != verdict.Regressed {
		t.Errorf("another GOMAXPROCS: %q, %+v", c.Warnings, change(t, c, row))
	}
}

// Rows of one record only are named, and so are two machines.
func TestWhatCannotBeSaid(t *testing.T) {
	s := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 8)), Cases: 1, Blocks: 8}
	old, now := s.Record(), s.Record()
	old.Rows, now.Rows = old.Rows[:4], now.Rows[:3]
	c := verdict.CompareRecords(old, now, verdict.DefaultThresholds())
	if len(c.Unmatched) != 1 || c.Unmatched[0].Reason != "in old only" {
		t.Errorf("%v", c.Unmatched)
	}
	now = s.Record()
	now.Rows[2].Proof = record.ProofFailed + "wrong"
	c = verdict.CompareRecords(s.Record(), now, verdict.DefaultThresholds())
	if len(c.Unmatched) != 1 || !strings.Contains(c.Unmatched[0].Reason, "failed: wrong") {
		t.Errorf("%v", c.Unmatched)
	}
	now.Machine.Cores = 64
	if c := verdict.CompareRecords(s.Record(), now, verdict.DefaultThresholds()); !c.AcrossMachines {
		t.Error("two machines were not noticed")
	}
	empty := verdict.CompareRecords(&record.Record{}, &record.Record{}, verdict.DefaultThresholds())
	if len(empty.Rows) != 0 || len(empty.Unmatched) != 0 {
		t.Error("rows of nothing")
	}
}
