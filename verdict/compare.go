package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"postage/record"
	"postage/stats"
)

// Outcome is the verdict on a row between two records, an old one and a new one.
type Outcome string

const (
	// Regressed: the new one is worse beyond chance and beyond the threshold.
	Regressed Outcome = "regressed"
	// Passed: whatever it may be worse by is under the threshold.
	Passed Outcome = "passed"
	// Inconclusive: neither can be said.
	Inconclusive Outcome = "inconclusive"
	// NotGated: there is nothing to compare the row with, its time changes with the
	// machine's.
	NotGated Outcome = "not gated"
)

// familyLevel bounds the probability of calling any row changed when none is.
const familyLevel = 0.05

// minPeers is how many rows a median needs that one of them cannot move.
const minPeers = 3

// Changes is what two records say when they are compared.
type Changes struct {
	Old, New *record.Record
	Limits   Thresholds
	// Rows are those with figures in both records, but for controls and floors: the
	// most important first.
	Rows []Change
	// Unmatched are the rows with figures in one of the records only.
	Unmatched []Unmatched
	// AcrossMachines says that the records are of different machines, and that
	// therefore nothing here says anything about the code.
	AcrossMachines bool
	// Paired says that old and new took turns in one run, which Old and New both are.
	Paired bool
	// Unlike says what else the runs were told than the rows to measure, so that their
	// difference need not be the code's; "" if nothing.
	Unlike   string
	Warnings []string
}

// Change is what two records say of a row.
type Change struct {
	Old, New *Result
	// Anchor is what the row's time was taken as a multiple of, in each run, so that a
	// machine that was slower as a whole cancels: a contender, "its peers" (the median
	// of the case's other rows), or "" for none. AnchorRounds where old and new took turns.
	Anchor string
	// Ratio is new/old with its 95% interval.
	Ratio Interval
	// P is the p-value of no change after Holm over all rows.
	P float64
	// Noise is the ratio up to which the control, which is the baseline again, is apart
	// from the baseline in either run, 1.012 for 1.2%; Seen is the smallest ratio that
	// would have been found. +Inf where there are too few blocks.
	Noise, Seen float64
	// Verdict is faster, slower, same or undecided.
	Verdict stats.Verdict
	// Time is the outcome of the times alone, Outcome that of times and counts.
	Time, Outcome Outcome
	// Fresh is what blocks say that were measured because the row's time had regressed,
	// nil if there were none. Where they do not say so too, Time is inconclusive.
	Fresh  *Change
	Counts []Count
	test   stats.Shift // of its block values
}

// Count is a figure that does not depend on the machine's mood and is compared exactly.
type Count struct {
	Metric   string // the threshold's name: "allocs", "bytes" or "size"
	Unit     string
	Old, New float64
	Outcome  Outcome
}

// Unmatched is a row with figures in one record only, and why.
type Unmatched struct {
	Row    string
	Reason string
	Old    bool // it is the old record that has them
}

// CompareRecords compares a new record with an old one, row by row.
//
//  1. A block's value of a row is the median over its rounds of ln(t/t_anchor). The
//     anchor is the case's baseline, so that the machine's drift from one run to the
//     next cancels. The baseline itself is taken against the median of its peers. So
//     are all rows of a case whose baseline is another module version now, or has
//     moved against its peers: else its change would show in every row but its own.
//     Peers have to be three at least, so that one that changed cannot move their
//     median; a row without anchor is shown, and not gated.
//  2. The block values of the two runs are not paired. Their shift is estimated by
//     Hodges-Lehmann, with the exact interval and p-value of Mann-Whitney, and Holm
//     over all rows.
//  3. Regressed needs the p-value after Holm to be at most 5%, an estimate of at least the
//     case's A/A noise, which its controls show, and an interval that is all beyond the
//     threshold: from one run to the next a row moves against its anchor by some percent
//     (docs/method.md, From run to run), which no interval from within two runs holds.
//     Passed needs the upper bound under the threshold. It is not adjusted, as passing
//     falsely takes a row that is really beyond the threshold, one by one.
//  4. Counts (allocations, bytes, sizes) are compared exactly. Where the batches of a run
//     do not agree on one, because the inputs differ or maps are laid out at random, it
//     has to lie beyond the old batches by more than the batches of either run differ.
//     Where the runs' seeds differ, so do their inputs, and counts are not compared.
//
// Not compared are controls, which the noise is read from, floors, which nobody would
// choose, and rows of another revision that one of the runs had beside its own (see
// ComparePaired).
func CompareRecords(old, new *record.Record, limits Thresholds) *Changes {
	c := &Changes{Old: old, New: new, Limits: limits, AcrossMachines: old.Machine.Identity() != new.Machine.Identity()}
	if c.AcrossMachines {
		c.Warnings = append(c.Warnings, fmt.Sprintf("across machines: old is %s; new is %s", old.Machine.Identity(), new.Machine.Identity()))
	}
	if a, b := old.Machine.Go, new.Machine.Go; a != b {
		c.Warnings = append(c.Warnings, fmt.Sprintf("old was measured with %s, new with %s", a, b))
	}
	if c.Unlike = unlike(&old.Run, &new.Run); c.Unlike != "" {
		c.Warnings = append(c.Warnings, c.Unlike)
	}
	oldCases, newCases := caseResults(old), caseResults(new)
	for _, name := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(old.Cases(), new.Cases())))) {
		c.match(oldCases[name], newCases[name])
	}
	c.test(oldCases, newCases)
	c.judge(Margin(min(old.Run.Precision, new.Run.Precision)))
	return c
}

// unlike says in what the settings of two runs differ that their figures depend on.
func unlike(old, new *record.Run) string {
	var parts []string
	if old.Seed != new.Seed {
		parts = append(parts, fmt.Sprintf("old was measured with seed %d, new with seed %d: their inputs differ, and sizes and allocations are not compared", old.Seed, new.Seed))
	}
	if old.GOMAXPROCS != new.GOMAXPROCS {
		parts = append(parts, fmt.Sprintf("old was measured with GOMAXPROCS %d, new with %d", old.GOMAXPROCS, new.GOMAXPROCS))
	}
	return strings.Join(parts, "; ")
}

// judge turns all rows' figures into words and sorts them.
func (c *Changes) judge(margin float64) {
	var lost []string
	for i := range c.Rows {
		if name := c.Rows[i].New.Row.Case; math.IsInf(c.Rows[i].Noise, 1) && !slices.Contains(lost, name) {
			lost = append(lost, name)
		}
	}
	if lost != nil {
		c.Warnings = append(c.Warnings, "no control, which would show the noise: "+strings.Join(lost, ", "))
	}
	for i := range c.Rows {
		c.Rows[i].judge(c.Limits, margin)
	}
	slices.SortStableFunc(c.Rows, byImportance)
}

func caseResults(rec *record.Record) map[string]*CaseResult {
	cases := map[string]*CaseResult{}
	for _, name := range rec.Cases() {
		c := AnalyzeCase(rec, name)
		cases[name] = &c
	}
	return cases
}

// match finds the rows of a case that both records have figures of.
func (c *Changes) match(old, new *CaseResult) {
	results := func(c *CaseResult) map[string]*Result {
		m := map[string]*Result{}
		if c != nil {
			for _, r := range c.Rows {
				if role := r.Row.Role; (role == record.RoleContender || role == record.RoleBaseline) && r.Row.OldOf == "" {
					m[r.Row.Name] = r
				}
			}
		}
		return m
	}
	olds, news := results(old), results(new)
	names := slices.Sorted(maps.Keys(olds))
	for _, name := range slices.Sorted(maps.Keys(news)) {
		if olds[name] == nil {
			names = append(names, name)
		}
	}
	for _, name := range names {
		o, n := olds[name], news[name]
		inOld, inNew := o != nil && o.NSOp != nil, n != nil && n.NSOp != nil
		switch {
		case inOld && inNew:
			c.Rows = append(c.Rows, Change{Old: o, New: n, Counts: c.counts(o, n)})
		case inOld:
			c.Unmatched = append(c.Unmatched, Unmatched{name, "in old only" + why(n), true})
		case inNew:
			c.Unmatched = append(c.Unmatched, Unmatched{name, "in new only" + why(o), false})
		}
	}
}

// why says why the other record has no figures of a row.
func why(r *Result) string {
	switch {
	case r == nil:
		return ""
	case r.Row.OK():
		return ": it has no blocks in the other"
	}
	return ": the other says " + string(r.Row.Proof)
}

// test finds each row's anchor, its shift, and its p-value among all.
func (c *Changes) test(olds, news map[string]*CaseResult) {
	level := familyLevel / float64(max(1, len(c.Rows)))
	var u stats.Unpaired
	shift := func(row *Change, anchored func(*record.Record, *record.Row) []float64) {
		row.test = u.Shift(anchored(c.Old, row.Old.Row), anchored(c.New, row.New.Row), level)
	}
	byCase := map[string][]*Change{}
	for i := range c.Rows {
		name := c.Rows[i].Old.Row.Case
		byCase[name] = append(byCase[name], &c.Rows[i])
	}
	for _, name := range slices.Sorted(maps.Keys(byCase)) {
		old, new := olds[name], news[name]
		base, moved := sameBaseline(old, new), ""
		others := peers(old, new)
		for _, row := range byCase[name] {
			if row.Old.Row.Name == base && len(others) > minPeers {
				row.Anchor = anchorPeers
				shift(row, c.toPeers(others))
				if (row.test.Low > 0 || row.test.High < 0) && math.Abs(row.test.Value) >= math.Log1p(c.Limits.Time)/2 {
					moved = "moved against its peers"
				}
				if a, b := row.Old.Row.Module, row.New.Row.Module; a != b {
					moved = fmt.Sprintf("is %s now and was %s", cmp.Or(b, "the standard library"), cmp.Or(a, "the standard library"))
				}
			}
		}
		if moved != "" {
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s: its baseline %s; its rows are compared with the median of the others", name, moved))
			others = slices.DeleteFunc(others, func(row string) bool { return row == base })
		}
		for _, row := range byCase[name] {
			switch {
			case row.Anchor != "":
			case base != "" && row.Old.Row.Name != base && moved == "":
				row.Anchor = strings.TrimPrefix(base, name+"/")
				shift(row, toRow(base))
				if row.New.Row.Value == record.ValueFastCPU && row.Old.Row.Value == record.ValueFastCPU {
					wall := func(rec *record.Record, r *record.Row) []float64 {
						p := newPair(rec.BlocksOf(r.Case), r, rec.Row(base))
						return p.values(record.ValueFastWall)
					}
					row.test = orWall(row.test, u.Shift(wall(c.Old, row.Old.Row), wall(c.New, row.New.Row), level), math.Log1p(c.Limits.Time))
				}
			case moved != "" && len(others) > minPeers:
				row.Anchor = anchorPeers
				shift(row, c.toPeers(others))
			default:
				shift(row, absolute)
			}
			row.Noise = math.Exp(max(noise(old), noise(new)))
		}
	}
	var tested []*Change
	var p []float64
	for i := range c.Rows {
		if row := &c.Rows[i]; row.Anchor != "" {
			tested = append(tested, row)
			p = append(p, row.test.P)
		} else {
			row.P = row.test.P
		}
	}
	for i, adjusted := range stats.Holm(p) {
		tested[i].P = adjusted
	}
	c.warnOfFewBlocks(fmt.Sprintf("%d blocks in each run", stats.BlocksFor(level)))
}

// warnOfFewBlocks says so if rows have fewer blocks than any finding takes.
func (c *Changes) warnOfFewBlocks(needed string) {
	few := 0
	for i := range c.Rows {
		if math.IsInf(c.Rows[i].test.Seen, 1) {
			few++
		}
	}
	if few > 0 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%d of %d rows have too few blocks to be found changed among so many, however large the change: that takes %s",
			few, len(c.Rows), needed))
	}
}

const anchorPeers = "its peers"

// sameBaseline is the name of the case's baseline if it is one row, with figures, in
// both records.
func sameBaseline(old, new *CaseResult) string {
	if old.Baseline == nil || new.Baseline == nil || old.Baseline.NSOp == nil || new.Baseline.NSOp == nil ||
		old.Baseline.Row.Name != new.Baseline.Row.Name {
		return ""
	}
	return old.Baseline.Row.Name
}

// peers are the names of the case's rows with figures in both records, without the
// control.
func peers(old, new *CaseResult) []string {
	var names []string
	for _, r := range old.Rows {
		if n := new.Of(r.Row.Contender); r.NSOp != nil && n != nil && n.NSOp != nil && r.Row.Role != record.RoleControl && r.Row.OldOf == "" {
			names = append(names, r.Row.Name)
		}
	}
	return names
}

// toRow gives a row's block values against another of its case.
func toRow(base string) func(*record.Record, *record.Row) []float64 {
	return func(rec *record.Record, row *record.Row) []float64 {
		return BlockValues(rec.BlocksOf(row.Case), row, rec.Row(base))
	}
}

// toPeers gives a row's block values against the others: the median over them of
// ln(t/t_other), each taken from where it was in the old record, as it is the middle
// change that is wanted and not the contender of middle speed.
func (c *Changes) toPeers(names []string) func(*record.Record, *record.Row) []float64 {
	return func(rec *record.Record, row *record.Row) []float64 {
		blocks := rec.BlocksOf(row.Case)
		against := make([][]float64, len(blocks))
		for _, name := range names {
			if name == row.Name {
				continue
			}
			was := stats.Median(BlockValues(c.Old.BlocksOf(row.Case), c.Old.Row(row.Name), c.Old.Row(name)))
			for i, block := range blocks {
				for _, value := range BlockValues([]*record.Block{block}, row, rec.Row(name)) {
					against[i] = append(against[i], value-was)
				}
			}
		}
		var values []float64
		for _, each := range against {
			if len(each) >= minPeers {
				values = append(values, stats.Median(each))
			}
		}
		return values
	}
}

// absolute gives the logarithms of a row's times by block.
func absolute(rec *record.Record, row *record.Row) []float64 {
	var values []float64
	for _, block := range rec.BlocksOf(row.Case) {
		if s := block.Of(row.Name); s != nil {
			values = append(values, math.Log(stats.Median(s.NSPerOp(row.N))))
		}
	}
	return values
}

// noise is how far the interval of the case's control reaches from 0, as a logarithm.
func noise(c *CaseResult) float64 {
	if c.Control == nil || c.Control.Ratio == nil {
		return math.Inf(1)
	}
	return max(math.Abs(math.Log(c.Control.Ratio.Low)), math.Abs(math.Log(c.Control.Ratio.High)))
}

// judge turns figures into words.
func (c *Change) judge(limits Thresholds, margin float64) {
	t := &c.test
	c.Ratio = Interval{math.Exp(t.Value), math.Exp(t.Low), math.Exp(t.High)}
	threshold := math.Log1p(limits.Time)
	known := 0.0 // a control that was lost says nothing of the noise, and excuses nothing
	if !math.IsInf(c.Noise, 1) {
		known = math.Log(c.Noise)
	}
	// Where old and new took turns, there is no run between them to move a row.
	paired := c.Anchor == AnchorRounds
	seen := max(t.Seen, threshold, known)
	if !paired {
		seen = max(seen, threshold+t.Value-t.Low)
	}
	c.Seen = math.Exp(seen)
	c.Verdict = stats.Decide(stats.Comparison{Ratio: c.Ratio.Value, Low: c.Ratio.Low, High: c.Ratio.High}, margin)
	if c.P > familyLevel && (c.Verdict == stats.Faster || c.Verdict == stats.Slower) {
		c.Verdict = stats.Undecided
	}
	switch {
	case c.Anchor == "":
		c.Time, c.Verdict = NotGated, stats.Undecided
	case c.P <= familyLevel && t.Value >= threshold && t.Value >= known && (paired || t.Low >= threshold):
		c.Time = Regressed
	case t.High < threshold:
		c.Time = Passed
	default:
		c.Time = Inconclusive
	}
	c.conclude()
}

// conclude takes the outcome of times and counts together.
func (c *Change) conclude() {
	c.Outcome = c.Time
	for _, count := range c.Counts {
		if count.Outcome == Regressed {
			c.Outcome = Regressed
		}
	}
}

// counts compares what can be counted.
func (c *Changes) counts(old, new *Result) []Count {
	var counts []Count
	add := func(metric, unit string, limit, was, is float64, old, new spread) {
		count := Count{Metric: metric, Unit: unit, Old: was, New: is, Outcome: Passed}
		if c.Old.Run.Seed != c.New.Run.Seed {
			count.Outcome = NotGated
		} else if new.low > old.high*(1+limit)+max(old.high-old.low, new.high-new.low) {
			count.Outcome = Regressed
		}
		counts = append(counts, count)
	}
	allocs := func(s *record.Series) []int64 { return s.Allocs }
	bytes := func(s *record.Series) []int64 { return s.Bytes }
	add("allocs", "allocs/op", c.Limits.Allocs, float64(*old.AllocsOp), float64(*new.AllocsOp), spreadOf(c.Old, old.Row, allocs), spreadOf(c.New, new.Row, allocs))
	add("bytes", "B/op", c.Limits.Bytes, float64(*old.BytesOp), float64(*new.BytesOp), spreadOf(c.Old, old.Row, bytes), spreadOf(c.New, new.Row, bytes))
	for _, unit := range slices.Sorted(maps.Keys(old.Row.Metrics)) {
		was := old.Row.Metrics[unit]
		if is, ok := new.Row.Metrics[unit]; ok && strings.HasSuffix(unit, "bytes") {
			add("size", unit, c.Limits.Size, was, is, spread{was, was}, spread{is, is})
		}
	}
	return counts
}

// spread is where most values of a count lie.
type spread struct{ low, high float64 }

// spreadOf is where the middle 80% of a row's batches lie, an operation, rounded down. It
// is one value where the contender does the same each time, and remains so when a
// background goroutine allocated in a few of the batches.
func spreadOf(rec *record.Record, row *record.Row, figure func(*record.Series) []int64) spread {
	var values []int64
	for _, block := range rec.BlocksOf(row.Case) {
		if s := block.Of(row.Name); s != nil {
			for _, total := range figure(s) {
				values = append(values, total/int64(row.N))
			}
		}
	}
	slices.Sort(values)
	return spread{float64(values[len(values)/10]), float64(values[(len(values)-1)*9/10])}
}

// byImportance puts what needs attention first, and of that the largest change.
func byImportance(a, b Change) int {
	rank := map[Outcome]int{Regressed: 0, Inconclusive: 1, Passed: 2, NotGated: 3}
	size := func(c Change) float64 {
		if c.Outcome == Passed {
			return -math.Abs(c.test.Value)
		}
		return -c.test.Value
	}
	return cmp.Or(cmp.Compare(rank[a.Outcome], rank[b.Outcome]), cmp.Compare(size(a), size(b)), cmp.Compare(a.Old.Row.Name, b.Old.Row.Name))
}

// Outcome is the outcome of the comparison as a whole: its worst row's.
func (c *Changes) Outcome() Outcome {
	worst := Passed
	for i := range c.Rows {
		switch c.Rows[i].Outcome {
		case Regressed:
			return Regressed
		case Inconclusive:
			worst = Inconclusive
		}
	}
	return worst
}

// RatioOf is the time of a row as a multiple of another's in one run: paired where both
// are of one case, else from the times alone, which is wider. It is false if either has
// no figures.
func RatioOf(rec *record.Record, row, base string) (Interval, bool) {
	a, b := rec.Row(row), rec.Row(base)
	if a == nil || b == nil || !a.OK() || !b.OK() {
		return Interval{}, false
	}
	if a.Case == b.Case {
		values := BlockValues(rec.BlocksOf(a.Case), a, b)
		c := stats.Compare(values)
		return Interval{c.Ratio, c.Low, c.High}, len(values) > 0
	}
	x, y := absolute(rec, b), absolute(rec, a)
	var u stats.Unpaired
	s := u.Shift(x, y, familyLevel)
	return Interval{math.Exp(s.Value), math.Exp(s.Low), math.Exp(s.High)}, len(x) > 0 && len(y) > 0
}
