package verdict

import (
	"fmt"
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
	Better  string  // "higher" or "lower", "" where it is not known
	Outcome Outcome // NotGated where no threshold names the unit
}

// gated is the outcome of the figure under a threshold.
func (m *MetricChange) gated(limit float64) Outcome {
	switch {
	case m.Better == "":
		return Inconclusive
	case m.Ratio == nil && m.Old == m.New:
		return Passed
	case m.Ratio == nil:
		return Inconclusive
	}
	worse := *m.Ratio
	if m.Better == string(Higher) {
		worse = Interval{Value: 1 / m.Ratio.Value, Low: 1 / m.Ratio.High, High: 1 / m.Ratio.Low}
	}
	return Gate(worse, m.P, 1+limit)
}

// Gate is the outcome of a figure by how much worse it is, the p-value of no change after Holm, and
// the most that is allowed.
func Gate(worse Interval, p, most float64) Outcome {
	switch {
	case p <= familyLevel && worse.Value > most:
		return Regressed
	case worse.High <= most:
		return Passed
	}
	return Inconclusive
}

// compareMetrics compares what the contenders count themselves, in rows whose sides took turns.
func (c *Changes) compareMetrics(cases map[string]*CaseResult) {
	var all []*MetricChange
	var p []float64
	level := familyLevel / float64(max(1, len(c.Rows)))
	for _, r := range c.Rows {
		for _, unit := range slices.Sorted(maps.Keys(r.New.Metrics)) {
			if was, ok := r.Old.Metrics[unit]; ok && unit != record.ClientCPU {
				r.Metrics = append(r.Metrics, MetricChange{
					Unit: unit, Old: was, New: r.New.Metrics[unit], P: 1, Verdict: Undecided,
					Better: r.New.Row.Properties[record.Better+unit], Outcome: NotGated,
				})
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
		m.P = adjusted
		words := map[Verdict]Verdict{Slower: Higher, Faster: Lower, Same: Same, Undecided: Undecided}
		if m.Ratio != nil {
			if v := Decide(*m.Ratio, margin); v == Same || m.P <= familyLevel {
				m.Verdict = words[v]
			}
		}
		if limit, named := c.Limits.Metrics[m.Unit]; named {
			m.Outcome = m.gated(limit)
		}
	}
	for _, unit := range slices.Sorted(maps.Keys(c.Limits.Metrics)) {
		named := slices.DeleteFunc(slices.Clone(all), func(m *MetricChange) bool { return m.Unit != unit })
		if len(named) == 0 {
			c.Lost = true
			c.Warnings = append(c.Warnings, unit+" has a threshold, and no row reports it")
		} else if named[0].Better == "" {
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s has a threshold, and nobody says which is better: have the tests print `Unit %s better=higher` (or lower)", unit, unit))
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
	return &stats.Moderated([][]float64{p.independent(values)}, nil, level, level)[0]
}
