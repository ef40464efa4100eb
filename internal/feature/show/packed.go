package show

import (
	"fmt"
	"math"
	"slices"

	"postage/internal/kit/report"
	"postage/internal/verdict"
	"postage/record"
)

// packs reports whether a case's rows pack messages: then what pays depends on the bandwidth.
func packs(c *verdict.CaseResult) bool {
	return slices.ContainsFunc(c.Rows, func(r *verdict.Result) bool { return r.Metrics[record.PackedBytes] > 0 })
}

// paysBelow is the bandwidth in Mbit/s below which a row is ahead of its case's baseline: it sends
// fewer bytes, and that saves more time on the wire than it costs in CPU time at both ends. It is 0
// if the row does not send fewer bytes, and infinite if it takes no more CPU time. ok is false if
// sizes or times are not known.
func paysBelow(c *verdict.CaseResult, r *verdict.Result) (_ verdict.Interval, ok bool) {
	if c.Baseline == nil || r.Ratio == nil {
		return verdict.Interval{}, false
	}
	size, cpu := c.Baseline.Metrics[record.PackedBytes], c.Baseline.Metrics[record.ClientCPU]
	if size == 0 || cpu == 0 || r.Metrics[record.PackedBytes] == 0 {
		return verdict.Interval{}, false
	}
	saved := 8 * (size - r.Metrics[record.PackedBytes])
	if saved <= 0 {
		return verdict.Interval{}, true
	}
	below := func(ratio float64) float64 {
		if ratio <= 1 {
			return math.Inf(1)
		}
		return saved / ((ratio - 1) * cpu) * 1e3
	}
	return verdict.Interval{Value: below(r.Ratio.Value), Low: below(r.Ratio.High), High: below(r.Ratio.Low)}, true
}

// paysText is the bandwidth below which a row of packed messages pays.
func paysText(c *verdict.CaseResult, r *verdict.Result) string {
	below, ok := paysBelow(c, r)
	switch {
	case !ok && r == c.Baseline:
		return ""
	case !ok:
		return "n/a"
	case below.Value == 0:
		return "never"
	case !r.Ratio.Bounded():
		return report.Grouped(below.Value) + " (no interval)"
	case math.IsInf(below.Low, 1):
		return "always"
	case math.IsInf(below.High, 1):
		return fmt.Sprintf("at least %s", report.Grouped(below.Low))
	}
	return fmt.Sprintf("%s (%s to %s)", report.Grouped(below.Value), report.Grouped(below.Low), report.Grouped(below.High))
}
