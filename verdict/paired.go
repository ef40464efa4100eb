package verdict

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"postage/record"
	"postage/stats"
)

// AnchorRounds is the anchor of rows whose old versions took part in the same rounds.
const AnchorRounds = "the same rounds"

// IsAgainst reports whether the run was against an old revision, so that ComparePaired has
// something to compare.
func IsAgainst(rec *record.Record) bool {
	return slices.ContainsFunc(rec.Rows, func(r record.Row) bool { return r.OldOf != "" }) || IsSame(rec)
}

// IsSame reports whether nothing was measured against the revision, as all is the same code.
func IsSame(rec *record.Record) bool {
	return len(rec.Rows) == 0 && slices.ContainsFunc(rec.Run.Patterns, func(p string) bool { return strings.HasPrefix(p, "-against=") })
}

// ComparePaired compares the rows of a run with their old versions, which took turns with them in
// the same run.
//
//  1. A block's value is that of its batches, new against old (see [BlockValues]).
//  2. Where all programs have one function layout, the estimate is that of Hodges and Lehmann, and
//     interval and p-value are those of Wilcoxon's signed-rank test; where the blocks drew among
//     several, see [stats.Grouped].
//  3. Regressed needs the p-value after Holm over all rows to be at most 2% (1% on the slower
//     side), and the estimate to be at the threshold. Passed needs the upper bound under it. It is
//     not adjusted for many rows, as each row that is really beyond the threshold must be missed by
//     itself.
//  4. Counts are compared as by [CompareRecords].
func ComparePaired(rec *record.Record, limits Thresholds) *Changes {
	c := &Changes{Old: rec, New: rec, Limits: limits, Paired: true, Untimed: untimed(rec)}
	cases := caseResults(rec)
	for i := range rec.Rows {
		row := &rec.Rows[i]
		if row.OldOf == "" {
			continue
		}
		results := cases[row.Case]
		o, n := results.named(row.Name), results.named(row.OldOf)
		inOld, inNew := o.NSOp != nil, n != nil && n.NSOp != nil
		switch {
		case inOld && inNew:
			c.Rows = append(c.Rows, Change{Old: o, New: n, Anchor: AnchorRounds, Counts: c.counts(o, n)})
		case inOld:
			c.Unmatched = append(c.Unmatched, Unmatched{row.OldOf, "in old only" + why(n), true})
		case inNew:
			c.Unmatched = append(c.Unmatched, Unmatched{row.OldOf, "in new only" + why(o), false})
		}
	}
	if len(rec.Rows) == 0 {
		c.Warnings = append(c.Warnings, rec.Run.Warnings...) // that all is the same code
	}
	level := familyLevel / float64(max(1, len(c.Rows)))
	few := 0
	for i := range c.Rows {
		r := &c.Rows[i]
		p := newPair(rec.BlocksOf(r.New.Row.Case), r.New.Row, r.Old.Row)
		r.test, r.Spread = p.shift(r.Old.Row.Value, level)
		if r.New.Row.Value.IsCPU() {
			wall, _ := p.shift(record.ValueFastWall, level)
			r.test = orWall(r.test, wall, math.Log1p(limits.Time))
		}
		if math.IsInf(r.test.Seen, 1) {
			few++
		}
	}
	if few > 0 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%d of %d rows have too few blocks to show any change among so many rows: that takes %d blocks",
			few, len(c.Rows), stats.PairedBlocksFor(level)))
	}
	c.judge(Margin(rec.Run.Precision))
	return c
}

// BlocksFor is how many blocks it takes to call one of so many rows changed.
func BlocksFor(rows int) int { return stats.PairedBlocksFor(familyLevel / float64(max(1, rows))) }

// shift is by how much the row's values of a kind lie above the other's, and the standard deviation
// of that from one function layout to another, nil where there was one.
func (p *pair) shift(kind record.Value, level float64) (stats.Shift, *float64) {
	return p.shiftOf(p.values(kind), level)
}

// shiftOf is shift of values of the blocks.
func (p *pair) shiftOf(values []float64, level float64) (stats.Shift, *float64) {
	byLayout := map[int][]float64{}
	for i, v := range values {
		byLayout[p.layouts[i]] = append(byLayout[p.layouts[i]], v)
	}
	if len(byLayout) < 2 {
		return stats.Paired(values, level), nil
	}
	var groups [][]float64
	for _, layout := range slices.Sorted(maps.Keys(byLayout)) {
		groups = append(groups, byLayout[layout])
	}
	shift, spread := stats.Grouped(groups, level)
	return shift, &spread
}

// named returns the result of a row, nil if the case has none of that name.
func (c *CaseResult) named(row string) *Result {
	for _, result := range c.Rows {
		if result.Row.Name == row {
			return result
		}
	}
	return nil
}
