package verdict

import (
	"maps"
	"math"
	"slices"

	"postage/internal/stats"
	"postage/record"
)

// MetricVerdict is what can be said of a figure whose better direction is not known.
type MetricVerdict string

const (
	MetricHigher    MetricVerdict = "higher"
	MetricLower     MetricVerdict = "lower"
	MetricSame      MetricVerdict = "same"
	MetricUndecided MetricVerdict = "undecided"
)

// MetricChange is a figure that a contender counts itself, such as a benchmark's ReportMetric, in
// the old code and the new.
type MetricChange struct {
	Unit string  `json:"unit"`
	Old  float64 `json:"old"`
	New  float64 `json:"new"`
	// Ratio is new/old with its 95% interval, as that of the times; nil where a block has 0 or
	// less.
	Ratio *Interval `json:"ratio"`
	// P is the p-value of no change after Holm over all figures of all rows.
	P       float64       `json:"p_holm"`
	Verdict MetricVerdict `json:"verdict"`
}

// Metrics compares what the contenders count themselves, by unit, in the rows of a run that was
// against a revision. The rows are those of [ComparePaired] of the record.
func (c *Changes) Metrics() map[*Change][]MetricChange {
	if !c.Paired {
		return nil
	}
	found := map[*Change][]MetricChange{}
	var all []*MetricChange
	var p []float64
	level := familyLevel / float64(max(1, len(c.Rows)))
	for i := range c.Rows {
		r := &c.Rows[i]
		for _, unit := range slices.Sorted(maps.Keys(r.New.Metrics)) {
			was, ok := r.Old.Metrics[unit]
			if !ok || unit == record.ClientCPU {
				continue
			}
			found[r] = append(found[r], MetricChange{Unit: unit, Old: was, New: r.New.Metrics[unit], P: 1, Verdict: MetricUndecided})
		}
		for j := range found[r] {
			m := &found[r][j]
			rows := newFigured(c.New, r.New.Row.Case).pair(r.New.Row, r.Old.Row)
			if shift := rows.metric(m.Unit, level); shift != nil {
				ratio := ratioOf(shift)
				m.Ratio, m.P = &ratio, shift.P
			} else if m.Old == m.New {
				m.Verdict = MetricSame
			}
			all, p = append(all, m), append(p, m.P)
		}
	}
	margin := Margin(c.New.Run.Precision)
	for i, adjusted := range stats.Holm(p) {
		m := all[i]
		if m.P = adjusted; m.Ratio == nil {
			continue
		}
		switch Decide(Comparison{Interval: *m.Ratio}, margin) {
		case Same:
			m.Verdict = MetricSame
		case Slower:
			if m.P <= familyLevel {
				m.Verdict = MetricHigher
			}
		case Faster:
			if m.P <= familyLevel {
				m.Verdict = MetricLower
			}
		}
	}
	return found
}

// metric is by how much a counter of the row lies above the other's, nil where a logarithm cannot
// be taken of it.
func (p *pair) metric(unit string, level float64) *stats.Shift {
	var values []float64
	for i := range p.series {
		is, was := p.series[i].Counters[unit], p.against[i].Counters[unit]
		if len(is) == 0 || len(was) == 0 {
			return nil
		}
		ratio := record.CounterPerOp(is, p.row.N) / record.CounterPerOp(was, p.base.N)
		if !(ratio > 0) || math.IsInf(ratio, 1) {
			return nil
		}
		values = append(values, math.Log(ratio))
	}
	if len(values) == 0 {
		return nil
	}
	if slices.Min(values) == slices.Max(values) && len(values) >= stats.MinBlocks {
		// The same in every block: counted, and no sample of anything.
		exact := stats.Shift{Value: values[0], Low: values[0], High: values[0]}
		if values[0] == 0 {
			exact.P = 1
		}
		return &exact
	}
	shift, _ := stats.Moderated([]stats.Grouped{p.grouped(values)}, level, level)
	return &shift[0]
}
