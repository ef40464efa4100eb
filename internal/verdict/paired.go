package verdict

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"postage/internal/stats"
	"postage/record"
)

// IsAgainst reports whether the run was against an old revision, so that ComparePaired has
// something to compare.
func IsAgainst(rec *record.Record) bool {
	return slices.ContainsFunc(rec.Rows, func(r record.Row) bool { return r.OldOf != "" }) || IsSame(rec)
}

// IsSame reports whether a run against a revision measured nothing, because all of the code is the
// same.
func IsSame(rec *record.Record) bool {
	return len(rec.Rows) == 0 && strings.HasPrefix(rec.Run.Vary, "@")
}

// ComparePaired compares the rows of a run with their old versions, which took turns with them in
// the same run.
//
//  1. A row's cost is compared by the values of its blocks, new against old; its wall time where it
//     waits for a server, or waits more than the old one.
//  2. Blocks with the same function layout are one value. [stats.Moderated] tests all rows. Blocks
//     vary at least as much as the spread of their rounds makes them.
//  3. A row regressed if its p-value after Holm over all rows is at most 2% (1% on the slower side),
//     and its estimate is at the threshold or beyond. It passed if its upper bound is under the
//     threshold. The bound is not adjusted for many rows: each row that is beyond the threshold
//     would have to be missed by itself.
//  4. Counts are compared as [CompareRecords] does.
func ComparePaired(rec *record.Record, limits Thresholds) *Changes {
	c := &Changes{Old: rec, New: rec, Limits: limits, Paired: true, Untimed: untimed(rec)}
	cases := caseResults(rec)
	for i := range rec.Rows {
		if row := &rec.Rows[i]; row.OldOf != "" {
			results := cases[row.Case]
			c.add(row.OldOf, results.Of(row.Contender), results.Of(strings.TrimPrefix(row.OldOf, row.Case+"/")))
		}
	}
	if len(rec.Rows) == 0 {
		c.Warnings = append(c.Warnings, rec.Run.Warnings...) // that all is the same code
	}
	few := 0
	c.testPaired(cases)
	c.compareMetrics(cases)
	for _, r := range c.Rows {
		r.Anchor = "the same rounds"
		if len(rec.BlocksOf(r.New.Row.Case)) < stats.MinBlocks {
			r.test = stats.Shift{Value: r.test.Value, Low: math.Inf(-1), High: math.Inf(1), P: 1, Seen: math.Inf(1), SeenOne: math.Inf(1)}
			few++
		}
	}
	if few > 0 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%d of %d rows have too few blocks to show any change: that takes %d blocks",
			few, len(c.Rows), stats.MinBlocks))
	}
	c.judge(Margin(rec.Run.Precision))
	return c
}

// testPaired tests each row's cost, or wall time.
func (c *Changes) testPaired(cases map[string]*CaseResult) {
	var rows [][]float64
	var least []float64
	for _, r := range c.Rows {
		in := cases[r.New.Row.Case]
		p := in.pair(r.New.Row, r.Old.Row)
		values, wall := p.values(), p.base.Value != record.ValueCost
		if in.wallPerCPU(r.New.Row) > wallDiffers*in.wallPerCPU(r.Old.Row) {
			values, wall = p.walls(), true
		}
		means := p.independent(values)
		rows = append(rows, means)
		least = append(least, p.explained(wall)*float64(len(means))/float64(max(1, len(values))))
	}
	level := familyLevel / float64(max(1, len(c.Rows)))
	for i, test := range stats.Moderated(rows, least, level, familyLevel) {
		c.Rows[i].test = test
	}
}

// explained is the variance that the spread of rounds gives to a block's value. Six or seven blocks
// that differ by less agree by chance (docs/evidence/bench.md, The gate).
func (p *pair) explained(wall bool) float64 {
	var variances []float64
	for i, s := range p.series {
		now, old := s.NSPerOp(p.row.N), p.against[i].NSPerOp(p.base.N)
		if !wall && len(s.CPUNS) > 0 && len(p.against[i].CPUNS) > 0 {
			now, old = perOp(s.CPUNS, p.row.N), perOp(p.against[i].CPUNS, p.base.N)
		}
		if len(now) != len(old) || len(now) < 2 {
			continue
		}
		// How far a round moves the logarithm of the ratio of their sums.
		meanNow, meanOld := stat.Mean(now, nil), stat.Mean(old, nil)
		rounds := make([]float64, len(now))
		for j := range rounds {
			rounds[j] = now[j]/meanNow - old[j]/meanOld
		}
		variances = append(variances, stat.Variance(rounds, nil)/float64(len(rounds)))
	}
	if len(variances) == 0 {
		return 0
	}
	return stat.Mean(variances, nil)
}

// independent are the means of the blocks' values by function layout, which alone vary
// independently. With one layout they are the values.
func (p *pair) independent(values []float64) (means []float64) {
	byLayout := map[int][]float64{}
	for i, v := range values {
		byLayout[p.layouts[i]] = append(byLayout[p.layouts[i]], v)
	}
	if len(byLayout) < 2 {
		return values
	}
	for _, layout := range slices.Sorted(maps.Keys(byLayout)) {
		means = append(means, stat.Mean(byLayout[layout], nil))
	}
	return means
}
