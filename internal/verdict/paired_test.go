package verdict_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"postage/internal/test/recordtest"
	"postage/internal/verdict"
	"postage/record"
)

// paired is a run against a revision: 14 blocks, whose values move by 1%, in so many function
// layouts. Each also moves each row on each side by spread. slower are factors on new
// times.
func paired(rng *rand.Rand, cases, layouts int, spread float64, slower map[string]float64) *record.Record {
	r := &recordtest.Run{Rand: rng, Cases: cases, Blocks: 16, Slower: slower, Jitter: true}
	rec := r.Record()
	recordtest.Against(rec, 1)
	recordtest.Laid(rec, rng, layouts, spread)
	for row, factor := range slower {
		slowOld(rec, row, 1/factor)
	}
	return rec
}

// The same code passes, in 100 comparisons of 30 rows. Where function layouts move each side by 3%,
// some row regresses in about the 1% that Holm's correction allows, and much more often if the
// layouts are not known.
func TestSameCodeRegressesNoMoreThanAllowed(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	for _, layouts := range []int{1, 8} {
		spread := 0.03
		if layouts == 1 {
			spread = 0
		}
		passed, regressed, ignored := 0, 0, 0
		for range 100 {
			rec := paired(rng, 6, layouts, spread, nil)
			c := verdict.ComparePaired(rec, verdict.DefaultThresholds())
			if len(c.Rows) != 30 || len(c.Unmatched) != 0 || !c.Paired {
				t.Fatalf("%d rows, %v", len(c.Rows), c.Unmatched)
			}
			switch c.Outcome() {
			case verdict.Regressed:
				regressed++
			case verdict.Passed:
				passed++
			}
			for j := range rec.Blocks {
				rec.Blocks[j].Layout = 0
			}
			if verdict.ComparePaired(rec, verdict.DefaultThresholds()).Outcome() == verdict.Regressed {
				ignored++
			}
		}
		t.Logf("%d layouts: of 100, %d passed, %d regressed, %d if layouts are not known", layouts, passed, regressed, ignored)
		if layouts == 1 && (passed < 95 || regressed > 0) || layouts > 1 && (regressed > 4 || ignored < 10) {
			t.Errorf("%d layouts: of 100, %d passed, %d regressed, %d if layouts are not known", layouts, passed, regressed, ignored)
		}
	}
}

// A gate without a threshold of time takes 3%, or the smallest visible change if that is more, at
// most 10%; a given threshold is kept.
func TestThresholdOrSeen(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 4))
	for spread, want := range map[float64]struct{ least, most float64 }{0: {0.03, 0.03}, 0.015: {0.03, 0.0999}, 0.2: {0.10, 0.10}} {
		rec := paired(rng, 1, 8, spread, nil)
		for _, r := range verdict.ComparePaired(rec, verdict.DefaultThresholds()).Rows {
			if r.Threshold < want.least || r.Threshold > want.most || r.Threshold < 0.10 && r.Time != verdict.Passed && r.Ratio.Value < 1 || spread == 0.015 && r.Seen > 1.031 && r.Threshold == 0.03 {
				t.Errorf("layouts move by %v: threshold %v, seen %v, %s, %+v", spread, r.Threshold, r.Seen, r.Time, r.Ratio)
			}
			if spread == 0.2 && r.Seen < 1.1 || spread == 0.2 && r.Ratio.High > 1.1 && r.Time == verdict.Passed {
				t.Errorf("layouts move by %v: %+v", spread, r)
			}
		}
		for _, r := range verdict.ComparePaired(rec, verdict.Thresholds{Time: 0.03}).Rows {
			if r.Threshold != 0.03 || r.Ratio.High > 1.03 && r.Time == verdict.Passed {
				t.Errorf("told 3%%: %v, %s, %+v", r.Threshold, r.Time, r.Ratio)
			}
		}
	}
}

// Few blocks are inconclusive, with a word on how many it takes.
func TestFewBlocks(t *testing.T) {
	r := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 8)), Cases: 1, Blocks: 3}
	rec := r.Record()
	recordtest.Against(rec, 1)
	c := verdict.ComparePaired(rec, verdict.DefaultThresholds())
	if c.Outcome() != verdict.Inconclusive || !strings.Contains(strings.Join(c.Warnings, " "), "takes 4 blocks") {
		t.Errorf("%v %v", c.Outcome(), c.Warnings)
	}
}

// Six blocks that all say 10% more are a regression, unless their rounds differ by so much that they
// agree by chance.
func TestBlocksThatAgreeByChance(t *testing.T) {
	// The factors on rounds' times leave the mean of the times as it is, or the mean of their logarithms.
	for value, mean := range map[record.Value]func(float64) float64{record.ValueCost: math.Cosh, record.ValueWall: func(float64) float64 { return 1 }} {
		for spread, want := range map[float64]verdict.Outcome{0: verdict.Regressed, 0.4: verdict.Inconclusive} {
			r := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 11)), Cases: 1, Blocks: 6}
			rec := r.Record()
			recordtest.Against(rec, 1/1.1)
			for i := range rec.Rows {
				rec.Rows[i].Value = value
			}
			for _, block := range rec.Blocks {
				for _, s := range block.Series {
					if strings.Contains(s.Row, "rev=") {
						continue
					}
					for i, ns := range s.WallNS {
						s.WallNS[i] = int64(float64(ns) * math.Exp(spread) / mean(spread))
						spread = -spread
					}
				}
			}
			for _, row := range verdict.ComparePaired(rec, verdict.DefaultThresholds()).Rows {
				if row.Time != want {
					t.Errorf("%s, rounds differ by %v: %s %s, want %s: %+v", value, spread, row.New.Row.Name, row.Time, want, row.Ratio)
				}
			}
		}
	}
}

// Instructions are gated beyond the threshold and what the blocks of a row differ by; shown with
// their spread; and where the machine does not count them there are none.
func TestInstructions(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 9))
	const row = "Encode/msg=0/op=encode/codec=a"
	for _, r := range []struct {
		more, spread float64
		want         verdict.Outcome
	}{{1, 0, verdict.Passed}, {1.02, 0, verdict.Passed}, {1.04, 0.0001, verdict.Regressed}, {1.04, 0.03, verdict.Passed}, {0.5, 0, verdict.Passed}} {
		rec := paired(rng, 1, 1, 0, nil)
		if got := verdict.AnalyzeCase(rec, "Encode/msg=0/op=encode"); got.Rows[0].InstructionsOp != nil {
			t.Fatal("instructions of a machine that does not count them")
		}
		for i := range rec.Blocks {
			for _, side := range []string{row, row + "/rev=abc1234"} {
				s := rec.Blocks[i].Of(side)
				per := 1000 * (1 + r.spread*(rng.Float64()-0.5))
				if side == row {
					per *= r.more
				}
				for range s.WallNS {
					s.Counters = map[string][]float64{record.Instructions: append(s.Counters[record.Instructions], 100*per)}
				}
			}
		}
		c := verdict.ComparePaired(rec, verdict.DefaultThresholds())
		counted := slices.DeleteFunc(slices.Clone(change(t, c, row).Counts), func(c verdict.Count) bool { return c.Metric != "instructions" })
		if len(counted) != 1 || counted[0].Outcome != r.want || change(t, c, row).Outcome != r.want {
			t.Errorf("%v times as many, spread %v: %+v, want %s", r.more, r.spread, counted, r.want)
		}
		for _, other := range change(t, c, "Encode/msg=0/op=encode/codec=b").Counts {
			if other.Metric == "instructions" {
				t.Errorf("of a row without them: %+v", other)
			}
		}
		got := change(t, c, row).New
		if x := got.InstructionsOp; x == nil || x.Low > x.Value || x.High < x.Value || x.Value < 400 || got.Metrics[record.Instructions] != 0 {
			t.Errorf("%+v", x)
		}
	}
}
