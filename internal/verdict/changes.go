package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"postage/internal/stats"
	"postage/record"
)

// Outcome is what a gate says of a row.
type Outcome string

const (
	// Regressed: the new one is worse beyond chance and beyond the threshold.
	Regressed Outcome = "regressed"
	// Passed: if it is worse, then by less than the threshold.
	Passed Outcome = "passed"
	// Inconclusive: neither can be said.
	Inconclusive Outcome = "inconclusive"
	// NotGated: old and new did not take turns, so the difference may not come from the code.
	NotGated Outcome = "not gated"
)

// familyLevel bounds the probability that any row is called changed when none is. Half of it is for
// slower, half for faster.
const familyLevel = 0.02

// adviceMargin is the margin that the whole interval between two runs must exceed for a verdict.
// Even so, rows of unchanged code get some (docs/evidence/method.md, The gate).
const adviceMargin = 0.05

// oneLayout is how much slower a row may be because of its function layout alone: 15% was seen with
// equal code. Where each side has one layout, a smaller change is not gated.
const oneLayout = 0.20

// countRounding is how much more a count may be, whatever its limit: half of a byte or an allocation
// is what rounding hides, and what work in the background adds to a batch.
const countRounding = 0.5

// Changes is the comparison of two records.
type Changes struct {
	Old, New *record.Record
	Limits   Thresholds
	// Rows are the rows with figures in both records, without controls and floors. The most
	// important is first.
	Rows      []*Change
	Unmatched []Unmatched
	// AcrossMachines says that the records are from different machines: then no difference says
	// anything about the code.
	AcrossMachines bool
	// Paired says that old and new code took turns in one run. Old and New are then the same
	// record.
	Paired bool
	// Untimed is how many rows a run against a revision had no time for.
	Untimed int
	// Lost says that figures are missing that more time would not give: of Go benchmarks that fail
	// in the new code only, or of a unit that has a threshold and that no row reports.
	Lost     bool
	Warnings []string
}

// Change is the comparison of a row.
type Change struct {
	Old, New *Result
	// Anchor is what cancels a slower machine: "the same rounds" where old and new took turns, else
	// the case's baseline, whose multiple the row's time is in each run. It is "" for none.
	Anchor string
	// Ratio is new/old with its 95% interval.
	Ratio Interval
	// P is the p-value of no change after Holm over all rows, NaN where old and new did not take turns.
	P float64
	// Seen is the smallest ratio that would have been found: 1.012 for 1.2%, +Inf with too few
	// blocks. Threshold is the gate's threshold for the row's time, as a fraction. Both are NaN
	// where old and new did not take turns.
	Seen      float64
	Threshold float64
	// Verdict is faster, slower, same or undecided.
	Verdict Verdict
	// Time is the outcome of the times alone. Outcome also takes in the counts.
	Time    Outcome
	Outcome Outcome
	Counts  []Count
	// Metrics are what the contenders count themselves, by unit, where old and new took turns.
	Metrics []MetricChange
	test    stats.Shift // of its block values
}

// Count is a figure that does not depend on the machine's load and is compared exactly.
type Count struct {
	Metric  string // the threshold's name: "allocs", "bytes" or "size"
	Unit    string
	Old     float64
	New     float64
	Outcome Outcome
}

// Unmatched is a row with figures in one record only, and why.
type Unmatched struct {
	Row    string
	Reason string
	Old    bool // the old record has the figures
}

// judge gives each row a verdict and sorts the rows.
func (c *Changes) judge(margin float64) {
	var p []float64
	for _, r := range c.Rows {
		p = append(p, r.test.P)
	}
	single := c.New.Run.Layouts == 1 && c.Limits.Time < oneLayout
	if single && len(c.Rows) > 0 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("each side has one function layout, which alone moves a row by up to %.0f%%: less than that is not gated; more --layouts are", 100*oneLayout))
	}
	for i, adjusted := range stats.Holm(p) {
		c.Rows[i].P = adjusted
		c.Rows[i].judge(c.Limits, margin, single)
	}
	slices.SortStableFunc(c.Rows, byImportance)
}

// judge sets the verdict and outcomes. single says that each side has one function layout.
func (c *Change) judge(limits Thresholds, margin float64, single bool) {
	t := &c.test
	c.Ratio = ratioOf(t)
	c.Verdict = Decide(c.Ratio, margin)
	if c.P > familyLevel && (c.Verdict == Faster || c.Verdict == Slower) {
		c.Verdict = Undecided
	}
	c.Seen, c.Threshold = math.Exp(max(t.Seen, math.Log1p(limits.Time))), limits.Time
	if limits.OrSeen && t.SeenOne > math.Log1p(limits.Time) {
		c.Threshold = min(math.Expm1(t.SeenOne), MostSeen)
	}
	regressed := limits.Time
	if single {
		regressed = oneLayout
	}
	switch {
	case c.P <= familyLevel && t.Value >= math.Log1p(regressed):
		c.Time = Regressed
	case t.High < math.Log1p(c.Threshold) && !single:
		c.Time = Passed
	default:
		c.Time = Inconclusive
	}
	c.sum()
}

// sum sets the row's outcome by what its time, its counts and its other figures say.
func (c *Change) sum() {
	c.Outcome = c.Time
	for _, count := range c.Counts {
		if count.Outcome == Regressed {
			c.Outcome = Regressed
		}
	}
	for _, m := range c.Metrics {
		if m.Outcome == Regressed || m.Outcome == Inconclusive && c.Outcome == Passed {
			c.Outcome = m.Outcome
		}
	}
}

// ratioOf is a shift of logarithms as a ratio.
func ratioOf(s *stats.Shift) Interval { return Interval{s.Value, s.Low, s.High}.Each(math.Exp) }

func caseResults(rec *record.Record) map[string]*CaseResult {
	cases := map[string]*CaseResult{}
	for _, name := range rec.Cases() {
		cases[name] = AnalyzeCase(rec, name)
	}
	return cases
}

// why says why the other record has no figures for a row.
func why(r *Result) string {
	switch {
	case r == nil:
		return ""
	case r.Row.OK():
		return ": it has no blocks in the other"
	}
	return ": the other says " + string(r.Row.Proof)
}

// counts compares allocations, bytes, instructions and sizes.
func (c *Changes) counts(old, new *Result) []Count {
	var counts []Count
	add := func(metric, unit string, limit, was, is float64, each func(s *record.Series, n int) []float64) {
		count := Count{Metric: metric, Unit: unit, Old: was, New: is, Outcome: Passed}
		before, now, rounding := spread{was, was}, spread{is, is}, 0.0
		if each != nil {
			before, now, rounding = spreadOf(c.Old, old.Row, each), spreadOf(c.New, new.Row, each), countRounding
		}
		if c.Old.Run.Seed != c.New.Run.Seed {
			count.Outcome = NotGated
		} else if now.low > before.high*(1+limit)+max(before.high-before.low, now.high-now.low, rounding) {
			count.Outcome = Regressed
		}
		counts = append(counts, count)
	}
	add("allocs", "allocs/op", c.Limits.Allocs, float64(*old.AllocsOp), float64(*new.AllocsOp), func(s *record.Series, n int) []float64 { return perOp(s.Allocs, n) })
	add("bytes", "B/op", c.Limits.Bytes, float64(*old.BytesOp), float64(*new.BytesOp), func(s *record.Series, n int) []float64 { return perOp(s.Bytes, n) })
	if was, is := old.InstructionsOp, new.InstructionsOp; was != nil && is != nil {
		add("instructions", record.Instructions, c.Limits.Instructions, was.Value, is.Value, func(s *record.Series, n int) []float64 {
			if values := s.Counters[record.Instructions]; values != nil {
				return []float64{record.CounterPerOp(values, n)}
			}
			return nil
		})
	}
	for _, unit := range slices.Sorted(maps.Keys(old.Row.Metrics)) {
		was := old.Row.Metrics[unit]
		if is, ok := new.Row.Metrics[unit]; ok && strings.HasSuffix(unit, "bytes") {
			add("size", unit, c.Limits.Size, was, is, nil)
		}
	}
	return counts
}

// spread is where most values of a count lie.
type spread struct{ low, high float64 }

// spreadOf is where the middle 80% of a row's values lie. It is one value if the contender does the
// same each time, even if a background goroutine allocates in a few batches.
func spreadOf(rec *record.Record, row *record.Row, figure func(s *record.Series, n int) []float64) spread {
	var values []float64
	for _, s := range rec.SeriesOf(row) {
		values = append(values, figure(s, row.N)...)
	}
	slices.Sort(values)
	return spread{values[len(values)/10], values[(len(values)-1)*9/10]}
}

// perOp divides the totals of batches by their n operations.
func perOp(totals []int64, n int) []float64 {
	var each []float64
	for _, total := range totals {
		each = append(each, float64(total)/float64(n))
	}
	return each
}

// byImportance puts rows that need attention first, the largest change first among them.
func byImportance(a, b *Change) int {
	rank := map[Outcome]int{Regressed: 0, Inconclusive: 1, Passed: 2, NotGated: 3}
	size := func(c *Change) float64 {
		if c.Outcome == Passed {
			return -math.Abs(math.Log(c.Ratio.Value))
		}
		return -c.Ratio.Value
	}
	return cmp.Or(cmp.Compare(rank[a.Outcome], rank[b.Outcome]), cmp.Compare(size(a), size(b)), cmp.Compare(a.Old.Row.Name, b.Old.Row.Name))
}

// Outcome is the outcome of the comparison as a whole: its worst row's.
func (c *Changes) Outcome() Outcome {
	worst := Passed
	if !c.Paired {
		worst = NotGated
	} else if c.Untimed > 0 || c.Lost {
		worst = Inconclusive
	}
	for _, r := range c.Rows {
		switch r.Outcome {
		case Regressed:
			return Regressed
		case Inconclusive:
			worst = Inconclusive
		}
	}
	return worst
}
