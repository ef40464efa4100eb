package show

import (
	"cmp"
	"math"
	"slices"

	"postage/internal/verdict"
	"postage/record"
)

// paysBelow is the bandwidth in Mbit/s below which a row is ahead of its case's baseline: it sends
// fewer bytes, and that saves more time on the wire than it costs in CPU time at both ends. It is 0
// if the row does not send fewer bytes, and infinite if it takes no more CPU time. ok is false if
// sizes or times are not known.
func paysBelow(c *verdict.CaseResult, r *verdict.Result) (_ verdict.Interval, ok bool) {
	at, ok := sendCost(c, r)
	base, baseOK := sendCost(c, c.Baseline)
	if !ok || !baseOK || r.Ratio == nil {
		return verdict.Interval{}, false
	}
	saved := base.bits - at.bits
	if saved <= 0 {
		return verdict.Interval{}, true
	}
	below := func(ratio float64) float64 {
		if ratio <= 1 {
			return math.Inf(1)
		}
		return saved / ((ratio - 1) * base.ns) * 1e3
	}
	return verdict.Interval{Value: below(r.Ratio.Value), Low: below(r.Ratio.High), High: below(r.Ratio.Low)}, true
}

// packedCost is what sending a message costs: CPU time, and bits on the wire.
type packedCost struct{ ns, bits float64 }

func sendCost(c *verdict.CaseResult, r *verdict.Result) (packedCost, bool) {
	if c.Baseline == nil || c.Baseline.NSOp == nil || r.NSOp == nil {
		return packedCost{}, false
	}
	size, sized := r.Metrics[record.PackedBytes]
	cpu, timed := c.Baseline.Metrics[record.ClientCPU]
	if r.Ratio != nil {
		cpu *= r.Ratio.Value
	}
	return packedCost{cpu, 8 * size}, sized && timed
}

// A pick is the row that takes the least time, CPU and wire together, at bandwidths below a limit
// and above the next pick's.
type pick struct {
	*verdict.Result
	Below float64 // Mbit/s, infinite for the first
}

// picksOf finds the rows that are best at some bandwidth, from the highest bandwidth down. It
// returns none for cases without packed messages.
func picksOf(c *verdict.CaseResult) []pick {
	costs := map[*verdict.Result]packedCost{}
	var rows []*verdict.Result
	for _, r := range c.Ways() {
		if cost, ok := sendCost(c, r); ok {
			costs[r], rows = cost, append(rows, r)
		}
	}
	if len(rows) < 2 {
		return nil
	}
	best := slices.MinFunc(rows, func(a, b *verdict.Result) int {
		return cmp.Or(cmp.Compare(costs[a].ns, costs[b].ns), cmp.Compare(costs[a].bits, costs[b].bits))
	})
	picks := []pick{{best, math.Inf(1)}}
	for {
		var next pick
		for _, r := range rows {
			saved := costs[best].bits - costs[r].bits
			if saved <= 0 {
				continue
			}
			if below := saved / (costs[r].ns - costs[best].ns) * 1e3; below > next.Below || below == next.Below && costs[r].bits < costs[next.Result].bits {
				next = pick{r, below}
			}
		}
		if next.Result == nil {
			return picks
		}
		best = next.Result
		picks = append(picks, next)
	}
}
