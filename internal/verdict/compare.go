package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"postage/record"
)

// CompareRecords compares two records, row by row, as advice: the difference between two runs may
// not come from the code, and no interval computed from them covers that (docs/method.md, Old code
// against new). Times are gated by [ComparePaired] alone.
//
//  1. A row's time is taken as a multiple of the case's baseline's in the same run, so that a
//     slower machine cancels out. The baseline itself is compared by its times alone, and gets no
//     verdict.
//  2. The two multiples have an interval each, and their quotient has both (see [Interval]). A row is
//     faster or slower if its whole interval is beyond 5%.
//  3. Counts (allocations, bytes, sizes) are compared exactly. Where the batches of a run
//     do not agree on one, because the inputs differ or maps are laid out at random, it
//     has to lie beyond the old batches by more than the batches of either run differ.
//     Where the runs' seeds differ, so do their inputs, and counts are not compared.
//
// Controls, floors, and rows of another revision in one of the runs are not compared.
func CompareRecords(old, new *record.Record, limits Thresholds) *Changes {
	c := &Changes{Old: old, New: new, Limits: limits, AcrossMachines: old.Machine.Identity() != new.Machine.Identity()}
	if c.AcrossMachines {
		c.Warnings = append(c.Warnings, fmt.Sprintf("across machines: old is %s; new is %s",
			old.Machine.Identity(), new.Machine.Identity()))
	}
	for _, text := range differences(old, new) {
		if strings.Contains(text, "seed") {
			text += ": their inputs differ, and sizes and allocations are not compared"
		}
		c.Warnings = append(c.Warnings, text)
	}
	oldCases, newCases := caseResults(old), caseResults(new)
	for _, name := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(old.Cases(), new.Cases())))) {
		from := len(c.Rows)
		c.match(oldCases[name], newCases[name])
		base := c.baseline(oldCases[name], newCases[name])
		for _, row := range c.Rows[from:] {
			row.advise(base)
		}
	}
	slices.SortStableFunc(c.Rows, byImportance)
	return c
}

// advise compares a row of two runs, as a multiple of the baseline's if there is one.
func (c *Change) advise(base string) {
	c.Ratio = c.New.NSOp.over(*c.Old.NSOp)
	c.P, c.Seen, c.Threshold = math.NaN(), math.NaN(), math.NaN()
	c.Verdict, c.Time = Undecided, NotGated
	if base != "" && base != c.New.Row.Contender {
		c.Anchor, c.Ratio = base, c.New.Ratio.over(*c.Old.Ratio)
		if v := Decide(c.Ratio, adviceMargin); v != Same {
			c.Verdict = v
		}
	}
	c.sum()
}

// differences are the settings that figures depend on and that the records do not share.
func differences(old, new *record.Record) (all []string) {
	differ := func(what string, was, is any) {
		if was != is {
			all = append(all, fmt.Sprintf("old was measured with %s %v, new with %v", what, was, is))
		}
	}
	differ("seed", old.Run.Seed, new.Run.Seed)
	differ("GOMAXPROCS", old.Run.GOMAXPROCS, new.Run.GOMAXPROCS)
	differ("the Go version", old.Machine.Go, new.Machine.Go)
	return all
}

// baseline is the case's baseline if it is one row, with figures, in both records, else "".
func (c *Changes) baseline(old, new *CaseResult) string {
	if old == nil || new == nil || old.Baseline == nil || new.Baseline == nil || old.Baseline.NSOp == nil || new.Baseline.NSOp == nil ||
		old.Baseline.Row.Name != new.Baseline.Row.Name {
		return ""
	}
	if a, b := old.Baseline.Row.Module, new.Baseline.Row.Module; a != b {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%s: its baseline was %s and is now %s: that changes its rows' ratios too",
			new.Name, cmp.Or(a, "the standard library"), cmp.Or(b, "the standard library")))
	}
	return new.Baseline.Row.Contender
}

// match adds the rows of a case, each with its figures in both records.
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
	all := maps.Clone(olds)
	maps.Copy(all, news)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c.add(name, olds[name], news[name])
	}
}

// add adds a row that both records have figures of, or says which of them lacks it.
func (c *Changes) add(name string, old, new *Result) {
	inOld, inNew := old != nil && old.NSOp != nil, new != nil && new.NSOp != nil
	switch {
	case inOld && inNew:
		c.Rows = append(c.Rows, &Change{Old: old, New: new, Counts: c.counts(old, new)})
	case inOld:
		c.Unmatched = append(c.Unmatched, Unmatched{name, "in old only" + why(new), true})
	case inNew:
		c.Unmatched = append(c.Unmatched, Unmatched{name, "in new only" + why(old), false})
	}
}

// RatioOf is a row's cost, or time, as a multiple of another's in one run. For rows of one case it
// is [CaseResult.RatioOf]. For rows of two cases it compares the times alone, and the interval is
// wider. It is false if either has no figures.
func RatioOf(rec *record.Record, row, base string) (Interval, bool) {
	a, b := rec.Row(row), rec.Row(base)
	if a == nil || b == nil || !a.OK() || !b.OK() {
		return Interval{}, false
	}
	c, other := AnalyzeCase(rec, a.Case), AnalyzeCase(rec, b.Case)
	if x, y := c.Of(a.Contender), other.Of(b.Contender); a.Case != b.Case {
		if x.NSOp == nil || y.NSOp == nil {
			return Interval{}, false
		}
		return x.NSOp.over(*y.NSOp), true
	}
	return c.RatioOf(c.Of(a.Contender), c.Of(b.Contender))
}

// RatioOf is a row's cost, or time, as a multiple of another's, by the blocks that have both rows. It
// is false if there is none.
func (c *CaseResult) RatioOf(row, base *Result) (Interval, bool) {
	p := c.pair(row.Row, base.Row)
	return Compare(p.values()), len(p.series) > 0
}
