package verdict

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

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
	Unit string `json:"unit"`
	// Old and New are medians of the blocks; without a ratio, means.
	Old float64 `json:"old"`
	New float64 `json:"new"`
	// Ratio is new/old with its 95% interval, nil if a block has 0 or less. Difference is new less
	// old, nil if a block lacks the figure.
	Ratio      *Interval `json:"ratio"`
	Difference *Interval `json:"difference"`
	// P is the p-value of no change after Holm over all figures of all rows.
	P       float64 `json:"p_holm"`
	Verdict Verdict `json:"verdict"`
	Better  string  `json:"better"`  // "higher" or "lower", "" where it is not known
	Outcome Outcome `json:"outcome"` // NotGated where no threshold names the unit
}

// change is by how much the logarithm of the figure rose, or where there is no ratio the figure. A
// figure that is not counted in blocks, and is the same, did not change.
func (m *MetricChange) change() Interval {
	switch {
	case m.Ratio != nil:
		return m.Ratio.Each(math.Log)
	case m.Difference != nil:
		return *m.Difference
	case m.Old == m.New:
		return Interval{}
	}
	return Interval{math.NaN(), math.Inf(-1), math.Inf(1)}
}

// gated is the outcome of the figure under a threshold.
func (m *MetricChange) gated(limit float64) Outcome {
	worse := m.change()
	if m.Ratio != nil {
		limit = math.Log1p(limit)
	}
	if m.Better == string(Higher) {
		worse = Interval{-worse.Value, -worse.High, -worse.Low}
	}
	switch {
	case m.Better == "":
		return Inconclusive
	case m.P <= familyLevel && worse.Value > limit:
		return Regressed
	case worse.High <= limit:
		return Passed
	}
	return Inconclusive
}

// decide gives the verdict of the change.
func (m *MetricChange) decide(margin float64) Verdict {
	change := m.change()
	if m.Ratio == nil {
		margin = 0
	}
	switch v := Decide(change.Each(math.Exp), margin); {
	case v == Same, change == (Interval{}):
		return Same
	case m.P <= familyLevel && v == Slower:
		return Higher
	case m.P <= familyLevel && v == Faster:
		return Lower
	}
	return Undecided
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
					Unit: unit, Old: was, New: r.New.Metrics[unit], P: 1,
					Better: r.New.Row.Properties[record.Better+unit], Outcome: NotGated,
				})
			}
		}
		rows := cases[r.New.Row.Case].pair(r.New.Row, r.Old.Row)
		for j := range r.Metrics {
			m := &r.Metrics[j]
			rows.metric(m, level)
			all, p = append(all, m), append(p, m.P)
		}
	}
	for i, adjusted := range stats.Holm(p) {
		m := all[i]
		m.P = adjusted
		m.Verdict = m.decide(Margin(c.New.Run.Precision))
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

// metric compares a counter of the two rows.
func (p *pair) metric(m *MetricChange, level float64) {
	var olds, news, differences, logs []float64
	for i := range p.series {
		is, was := p.series[i].Counters[m.Unit], p.against[i].Counters[m.Unit]
		if len(is) == 0 || len(was) == 0 {
			return
		}
		now, old := record.CounterPerOp(is, p.row.N), record.CounterPerOp(was, p.base.N)
		olds, news, differences = append(olds, old), append(news, now), append(differences, now-old)
		if ratio := now / old; ratio > 0 && !math.IsInf(ratio, 1) {
			logs = append(logs, math.Log(ratio))
		}
	}
	if len(differences) == 0 {
		return
	}
	shift := p.shift(differences, level)
	m.Difference, m.P = &Interval{shift.Value, shift.Low, shift.High}, shift.P
	if len(logs) == len(differences) {
		shift = p.shift(logs, level)
		m.Ratio, m.P = new(ratioOf(&shift)), shift.P
	} else { // what is rare is in few blocks: their median would not have it
		m.Old, m.New = stat.Mean(olds, nil), stat.Mean(news, nil)
	}
}

// shift is how far the blocks' values lie above 0.
func (p *pair) shift(values []float64, level float64) stats.Shift {
	if first := values[0]; slices.Min(values) == slices.Max(values) && len(values) >= stats.MinBlocks {
		// Values that are the same in every block have no spread to estimate.
		exact := stats.Shift{Value: first, Low: first, High: first}
		if first == 0 {
			exact.P = 1
		}
		return exact
	}
	return stats.Moderated([][]float64{p.independent(values)}, nil, level, level)[0]
}
