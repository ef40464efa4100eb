package verdict

import (
	"fmt"
	"math"
	"slices"

	"postage/record"
	"postage/stats"
)

// AnchorRounds is the anchor of rows whose old selves took part in the same rounds.
const AnchorRounds = "the same rounds"

// IsAgainst says whether the run was against an old revision: whether ComparePaired has
// something to compare.
func IsAgainst(rec *record.Record) bool {
	return slices.ContainsFunc(rec.Rows, func(r record.Row) bool { return r.OldOf != "" })
}

// ComparePaired compares the rows of a run with their old selves in the same run. It
// differs from CompareRecords in that the two took turns batch by batch: a block's value
// is the median over its rounds of ln(t/t_old), and needs no anchor; the estimate is that
// of Hodges and Lehmann, interval and p-value are those of Wilcoxon's signed-rank test.
func ComparePaired(rec *record.Record, limits Thresholds) *Changes {
	c := &Changes{Old: rec, New: rec, Limits: limits, Paired: true}
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
			c.Rows = append(c.Rows, Change{Old: o, New: n, Anchor: AnchorRounds, Noise: math.Exp(noise(results)), Counts: c.counts(o, n)})
		case inOld:
			c.Unmatched = append(c.Unmatched, Unmatched{row.OldOf, "in old only" + why(n), true})
		case inNew:
			c.Unmatched = append(c.Unmatched, Unmatched{row.OldOf, "in new only" + why(o), false})
		}
	}
	level := familyLevel / float64(max(1, len(c.Rows)))
	var p []float64
	for i := range c.Rows {
		r := &c.Rows[i]
		r.test = stats.Paired(BlockValues(rec.BlocksOf(r.New.Row.Case), r.New.Row, r.Old.Row), level)
		if r.New.Row.Value == record.ValueFastCPU {
			wall := newPair(rec.BlocksOf(r.New.Row.Case), r.New.Row, r.Old.Row)
			r.test = orWall(r.test, stats.Paired(wall.values(record.ValueFastWall), level), math.Log1p(limits.Time))
		}
		p = append(p, r.test.P)
	}
	for i, adjusted := range stats.Holm(p) {
		c.Rows[i].P = adjusted
	}
	c.warnOfFewBlocks(fmt.Sprintf("%d blocks", stats.PairedBlocksFor(level)))
	c.judge(Margin(rec.Run.Precision))
	return c
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
