package verdict

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"postage/record"
	"postage/record/recordtest"
)

func change(t *testing.T, c *Changes, row string) *Change {
	t.Helper()
	for i := range c.Rows {
		if c.Rows[i].New.Row.Name == row {
			return &c.Rows[i]
		}
	}
	t.Fatalf("no row %s", row)
	return nil
}

// Two runs of the same code never gate as regressed, in 100 comparisons on a machine
// that is 10% faster or slower from one run to the next.
func TestSameCodeNeverRegresses(t *testing.T) {
	s := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 6, Blocks: 10, Jitter: true}
	passed := 0
	for i := range 100 {
		c := CompareRecords(s.Record(), s.Record(), DefaultThresholds())
		if len(c.Rows) != 30 || len(c.Unmatched) != 0 {
			t.Fatalf("%d rows, %v", len(c.Rows), c.Unmatched)
		}
		switch c.Outcome() {
		case Regressed:
			t.Errorf("comparison %d: regressed: %s %+v", i, c.Rows[0].New.Row.Name, c.Rows[0])
		case Passed:
			passed++
		}
	}
	t.Logf("%d of 100 passed, the others were inconclusive", passed)
	if passed < 80 {
		t.Errorf("only %d of 100 passed", passed)
	}
}

// A contender that takes 10% longer gates as regressed in at least 90 of 100
// comparisons, and no other row does.
func TestSlowdownRegresses(t *testing.T) {
	const slow = "Encode/msg=3/op=encode/codec=c"
	old := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 2)), Cases: 6, Blocks: 10}
	now := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 3)), Cases: 6, Blocks: 10, Slower: map[string]float64{slow: 1.10}}
	found := 0
	for i := range 100 {
		c := CompareRecords(old.Record(), now.Record(), DefaultThresholds())
		for j := range c.Rows {
			row := &c.Rows[j]
			switch {
			case row.Outcome != Regressed:
			case row.New.Row.Name == slow && j == 0:
				found++
			default:
				t.Errorf("comparison %d: %s regressed: %v", i, row.New.Row.Name, row.Ratio)
			}
		}
	}
	t.Logf("found in %d of 100", found)
	if found < 90 {
		t.Errorf("found in %d of 100", found)
	}
}

// Between two runs, what may be under the threshold has not regressed, however certain it
// is that it changed: rows move by as much with the state of the machine.
func TestThresholdBetweenRuns(t *testing.T) {
	const row = "Encode/msg=0/op=encode/codec=c"
	old := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 2)), Cases: 1, Blocks: 14}
	now := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 3)), Cases: 1, Blocks: 14, Slower: map[string]float64{row: 1.055}}
	r := change(t, CompareRecords(old.Record(), now.Record(), DefaultThresholds()), row)
	if r.Ratio.Value < 1.05 || r.Ratio.Low > 1.05 || r.P > 0.01 || r.Outcome != Inconclusive || r.Seen < 1.05*r.Ratio.Value/r.Ratio.Low {
		t.Errorf("%+v", r)
	}
	// Where both took turns, the estimate decides.
	rec := old.Record()
	recordtest.Against(rec, 1/1.055)
	if r := change(t, ComparePaired(rec, DefaultThresholds()), row); r.Outcome != Regressed {
		t.Errorf("in the same rounds: %+v", r)
	}
}

// A baseline that changed is found against its peers, and no other row is said to have
// changed because of it.
func TestChangedBaseline(t *testing.T) {
	const base = "Encode/msg=0/op=encode/codec=base"
	for _, r := range []struct {
		factor  float64
		outcome Outcome
	}{{0.8, Passed}, {1.2, Regressed}} {
		old := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 4)), Cases: 2, Blocks: 14}
		now := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 5)), Cases: 2, Blocks: 14,
			Slower: map[string]float64{base: r.factor, "Encode/msg=0/op=encode/codec=control": r.factor}}
		c := CompareRecords(old.Record(), now.Record(), DefaultThresholds())
		if row := change(t, c, base); row.Outcome != r.outcome || math.Abs(row.Ratio.Value/r.factor-1) > 0.03 {
			t.Errorf("baseline by %v: %v, %+v", r.factor, row.Outcome, row.Ratio)
		}
		for i := range c.Rows {
			if name := c.Rows[i].New.Row.Name; name != base && c.Rows[i].Outcome == Regressed {
				t.Errorf("baseline by %v: %s regressed", r.factor, name)
			}
		}
		if len(c.Warnings) == 0 || !strings.Contains(c.Warnings[0], "moved against its peers") {
			t.Errorf("warnings: %v", c.Warnings)
		}
	}
	old := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 4)), Cases: 1, Blocks: 10, Modules: map[string]string{"codec=base": "m v1"}}
	now := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 5)), Cases: 1, Blocks: 10, Modules: map[string]string{"codec=base": "m v2"}}
	c := CompareRecords(old.Record(), now.Record(), DefaultThresholds())
	if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "is m v2 now and was m v1") || c.Rows[0].Anchor != anchorPeers {
		t.Errorf("another version of the baseline: %v", c.Warnings)
	}
}

// One allocation or byte more is a regression, whatever the time; what differs from
// block to block is not.
func TestCountsAreExact(t *testing.T) {
	const row = "Encode/msg=0/op=encode/codec=a"
	old := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 6)), Cases: 1, Blocks: 10}
	now := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 6)), Cases: 1, Blocks: 10, Allocs: map[string]int64{row: 1}}
	c := CompareRecords(old.Record(), now.Record(), DefaultThresholds())
	if r := change(t, c, row); r.Time != Passed || r.Outcome != Regressed || r.Counts[0] != (Count{"allocs", "allocs/op", 2, 3, Regressed}) {
		t.Errorf("%+v", r)
	}
	allowed := DefaultThresholds()
	allowed.Allocs = 0.5
	now.Rand, old.Rand = rand.New(rand.NewPCG(7, 6)), rand.New(rand.NewPCG(7, 6))
	if r := change(t, CompareRecords(old.Record(), now.Record(), allowed), row); r.Outcome != Passed {
		t.Errorf("one of two more, 50%% allowed: %v", r.Outcome)
	}
	a, b := now.Record(), now.Record()
	b.Row(row).Metrics["encoded-bytes"] = 378
	if r := change(t, CompareRecords(a, b, DefaultThresholds()), row); r.Outcome != Regressed {
		t.Error("a larger encoding passed")
	}
}

// Runs whose seeds differ had other inputs: the sizes of those say nothing about the code.
func TestOtherInputs(t *testing.T) {
	const row = "Encode/msg=0/op=encode/codec=a"
	s := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 6)), Cases: 1, Blocks: 10}
	old, now := s.Record(), s.Record()
	now.Row(row).Metrics["encoded-bytes"] = 378
	if c := CompareRecords(old, now, DefaultThresholds()); c.Unlike != "" || change(t, c, row).Outcome != Regressed {
		t.Errorf("the same seed: %q, %+v", c.Unlike, change(t, c, row))
	}
	now.Run.Seed = 7
	c := CompareRecords(old, now, DefaultThresholds())
	if !strings.Contains(c.Unlike, "seed 1, new with seed 7") || len(c.Warnings) != 1 || change(t, c, row).Outcome != Passed {
		t.Errorf("another seed: %q, %+v", c.Unlike, change(t, c, row))
	}
	now.Run.Seed, now.Run.GOMAXPROCS = old.Run.Seed, 1
	if c := CompareRecords(old, now, DefaultThresholds()); !strings.Contains(c.Unlike, "GOMAXPROCS 2, new with 1") || change(t, c, row).Outcome != Regressed {
		t.Errorf("another GOMAXPROCS: %q, %+v", c.Unlike, change(t, c, row))
	}
}

// Few blocks are inconclusive, with a word on how many it takes; rows without peers are
// not gated; rows of one record only are named.
func TestWhatCannotBeSaid(t *testing.T) {
	s := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 8)), Cases: 1, Blocks: 3}
	c := CompareRecords(s.Record(), s.Record(), DefaultThresholds())
	if c.Outcome() != Inconclusive || !math.IsInf(c.Rows[0].Seen, 1) || !strings.Contains(strings.Join(c.Warnings, " "), "takes 5 blocks in each run") {
		t.Errorf("%v %v %v", c.Outcome(), c.Rows[0].Seen, c.Warnings)
	}
	s.Blocks = 8
	old, now := s.Record(), s.Record()
	old.Rows, now.Rows = old.Rows[:4], now.Rows[:3]
	c = CompareRecords(old, now, DefaultThresholds())
	if len(c.Unmatched) != 1 || c.Unmatched[0].Reason != "in old only" {
		t.Errorf("%v", c.Unmatched)
	}
	if r := change(t, c, "Encode/msg=0/op=encode/codec=base"); r.Outcome != NotGated || r.Anchor != "" {
		t.Errorf("a baseline without peers: %+v", r)
	}
	now = s.Record()
	now.Rows[2].Proof = record.ProofFailed + "wrong"
	c = CompareRecords(s.Record(), now, DefaultThresholds())
	if len(c.Unmatched) != 1 || !strings.Contains(c.Unmatched[0].Reason, "failed: wrong") {
		t.Errorf("%v", c.Unmatched)
	}
	now.Machine.Cores = 64
	if c := CompareRecords(s.Record(), now, DefaultThresholds()); !c.AcrossMachines {
		t.Error("two machines were not noticed")
	}
	empty := CompareRecords(&record.Record{}, &record.Record{}, DefaultThresholds())
	if len(empty.Rows) != 0 || len(empty.Unmatched) != 0 {
		t.Error("rows of nothing")
	}
}

func TestParseThresholds(t *testing.T) {
	got, err := ParseThresholds([]byte("time: 7.5%\nbytes: 0.01\n"))
	if want := (Thresholds{Time: 0.075, Bytes: 0.01}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := ParseThresholds(nil); err != nil || got != DefaultThresholds() {
		t.Errorf("nothing: %+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"tme: 5%": "tme", "time: fast": "want a percentage", "time: -1": "want a percentage", "time: 0": "must be above 0%", "time: [1]": "want a percentage", "time: NaN": "want a percentage",
	} {
		if _, err := ParseThresholds([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzParseThresholds(f *testing.F) {
	f.Add([]byte("time: 5%\nallocs: 0\nbytes: 0\nsize: 0\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if th, err := ParseThresholds(text); err == nil && (!(th.Time > 0) || th.Allocs < 0 || th.Bytes < 0 || th.Size < 0) {
			t.Errorf("%q: %+v", text, th)
		}
	})
}
