package verdict

import (
	"math"
	"math/rand/v2"
	"slices"

	"postage/record"
)

// Advice is the best bet for a case. The estimates alone decide what it is; intervals say how sure
// that is.
type Advice struct {
	// Use is the cheapest way that departs from no standard, by the estimates.
	Use *Result
	// Instead is what Use is compared with: the baseline; if Use is the baseline, the next best;
	// nil if there is no other.
	Instead *Result
	// Saves is Instead's cost as a multiple of Use's. Its upper bound is infinite with too few
	// blocks.
	Saves Interval
	// Sure is the share of resamples of the blocks in which Use is the cheapest. It is at most 1 -
	// 2^-n with n blocks, and NaN with fewer than two.
	Sure float64
	// Also are the ways that cannot be told from Use, the nearest first.
	Also []*Result
	// Departing is the cheapest way that departs from a standard, nil if Use is cheaper.
	Departing *Result
}

// Advise gives the advice for a case. It is nil where there is no choice: the baseline has no
// figures, nothing else has, or all ways depart from a standard.
func Advise(c *CaseResult) *Advice {
	if c.Baseline == nil || c.Baseline.NSOp == nil {
		return nil
	}
	a := &Advice{}
	var ways []*Result // the ways that depart from no standard, the cheapest first
	for _, r := range c.Ways() {
		switch {
		case r != c.Baseline && (r.Ratio == nil || math.IsNaN(r.Ratio.Value)):
		case r.Row.Properties[record.Departs] == "":
			ways = append(ways, r)
		case len(ways) == 0 && a.Departing == nil:
			a.Departing = r
		}
	}
	if len(ways) == 0 || len(ways) == 1 && ways[0] == c.Baseline && a.Departing == nil {
		return nil
	}
	a.Use = ways[0]
	if a.Use != c.Baseline {
		a.Instead = c.Baseline
	} else if len(ways) > 1 {
		a.Instead = ways[1]
	}
	if a.Instead != nil {
		a.Saves, _ = c.RatioOf(a.Instead, a.Use)
	}
	for _, r := range ways[1:] {
		if x, ok := c.RatioOf(r, a.Use); ok && x.Low <= 1 {
			a.Also = append(a.Also, r)
		}
	}
	a.Sure = c.cheapest(ways)
	return a
}

// resamples are enough to tell 99% from 98%.
const resamples = 1000

// cheapest is the share of resamples of the case's blocks, drawn with replacement, in which the
// first of the ways is the cheapest by the mean of its block values. A way may have sat out blocks.
//
// The share is at most 1 - 2^-n, because resamples of few blocks differ too little. As in a sign
// test, one of two equal ways is the cheaper in all of n blocks by chance once in 2^n.
func (c *CaseResult) cheapest(ways []*Result) float64 {
	values := make([][]float64, len(ways)) // by block, NaN where there is none
	for i, r := range ways {
		values[i] = slices.Repeat([]float64{math.NaN()}, c.Blocks)
		p := c.pair(r.Row, c.Baseline.Row)
		for j, v := range p.values() {
			values[i][p.numbers[j]] = v
		}
	}
	n := len(c.pair(ways[0].Row, c.Baseline.Row).series)
	if n < 2 {
		return math.NaN()
	}
	rng := rand.New(rand.NewPCG(1, resamples)) // the same for the same record
	drawn := make([]int, c.Blocks)
	wins := 0
	for range resamples {
		for i := range drawn {
			drawn[i] = rng.IntN(c.Blocks)
		}
		best, least := -1, math.Inf(1)
		for i := range values {
			if mean := meanAt(values[i], drawn); mean < least {
				best, least = i, mean
			}
		}
		if best == 0 {
			wins++
		}
	}
	return min(float64(wins)/resamples, 1-math.Exp2(-float64(n)))
}

// meanAt is the mean of the finite values at these places, NaN if there is none.
func meanAt(values []float64, places []int) float64 {
	sum, n := 0.0, 0
	for _, i := range places {
		if v := values[i]; !math.IsNaN(v) && !math.IsInf(v, 0) {
			sum, n = sum+v, n+1
		}
	}
	return sum / float64(n)
}
