package verdict

import (
	"maps"
	"math"
	"slices"

	"postage/internal/stats"
	"postage/record"
)

// What can be said of a figure whose better direction is not known, beside Same and Undecided.
const (
	Higher Verdict = "higher"
	Lower  Verdict = "lower"
)

// MetricChange is a figure that a contender counts itself, such as a benchmark's ReportMetric,
// before and after.
type MetricChange struct {
	Unit string
	Old  float64
	New  float64
	// Ratio is new/old with its 95% interval, nil if a block has 0 or less.
	Ratio *Interval
	// P is the p-value of no change after Holm over all figures of all rows.
	P       float64
	Verdict Verdict
}

// compareMetrics compares what the contenders count themselves, in rows whose sides took turns.
func (c *Changes) compareMetrics(cases map[string]*CaseResult) {
	var all []*MetricChange
	var p []float64
	level := familyLevel / float64(max(1, len(c.Rows)))
	for _, r := range c.Rows {
		for _, unit := range slices.Sorted(maps.Keys(r.New.Metrics)) {
			if was, ok := r.Old.Metrics[unit]; ok && unit != record.ClientCPU {
				r.Metrics = append(r.Metrics, MetricChange{Unit: unit, Old: was, New: r.New.Metrics[unit], P: 1, Verdict: Undecided})
			}
		}
		rows := cases[r.New.Row.Case].pair(r.New.Row, r.Old.Row)
		for j := range r.Metrics {
			m := &r.Metrics[j]
			if shift := rows.metric(m.Unit, level); shift != nil {
				m.Ratio, m.P = new(ratioOf(shift)), shift.P
			} else if m.Old == m.New {
				m.Verdict = Same
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
		words := map[Verdict]Verdict{Slower: Higher, Faster: Lower, Same: Same, Undecided: Undecided}
		if v := Decide(Comparison{Interval: *m.Ratio}, margin); v == Same || m.P <= familyLevel {
			m.Verdict = words[v]
		}
	}
}

// metric compares a counter of the two rows. It is nil if a block lacks the counter, or has 0 or
// less.
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
		// A ratio that is the same in every block has no spread to estimate.
		exact := stats.Shift{Value: values[0], Low: values[0], High: values[0]}
		if values[0] == 0 {
			exact.P = 1
		}
		return &exact
	}
	shift, _ := stats.Moderated([]stats.Grouped{p.grouped(values)}, level, level)
	return &shift[0]
}
