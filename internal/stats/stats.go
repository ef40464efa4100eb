// Package stats is the mathematics of Postage and nothing else: it knows no clock,
// no file and no contender.
//
// The path from batches to a verdict:
//
//  1. [NewCosts] makes a row's batches of a block one value, its cost. Of contenders with a
//     server, [MeanBlockValue] takes the mean over the rounds of the logarithm of their ratio.
//  2. Blocks come from freshly started processes and are what varies independently:
//     address layout, heap layout, placement. Batches within a block are not
//     independent of one another and are never counted as if they were.
//  3. [Compare] gives the estimate of the block values and its interval, by [Paired]: Student's
//     below ten blocks, from there Hodges and Lehmann's with the exact signed rank. What differs
//     between runs, and not between blocks of one, is added.
//  4. [Decide] turns an interval into a verdict.
//
// Note: a bootstrap of 6 to 56 values undercovers. Mann-Whitney on all batches treats dependent
// batches as independent, which is how two identical programs come to be called different.
package stats

import (
	"math"
	"slices"
)

// Median returns the median of x, the mean of the middle two if their number is
// even, NaN for no values. x is left as it is.
func Median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(x))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// MeanBlockValue is a block's value of a contender against another, of those that wait for another
// process, whose slow and fast batches are both part of the work: the mean over the rounds of
// ln(t/base), where t[i] and base[i] are the times per operation, in any one unit, of the two
// batches of round i. It panics if the two differ in length.
func MeanBlockValue(t, base []float64) float64 {
	if len(t) != len(base) {
		panic("stats: unpaired rounds")
	}
	sum := 0.0
	for i := range t {
		sum += math.Log(t[i] / base[i])
	}
	return sum / float64(len(t))
}

// walsh returns the averages of all pairs of x, each value with itself included, in
// ascending order: n(n+1)/2 of them.
func walsh(x []float64) []float64 {
	w := make([]float64, 0, len(x)*(len(x)+1)/2)
	for i, a := range x {
		for _, b := range x[i:] {
			w = append(w, (a+b)/2)
		}
	}
	slices.Sort(w)
	return w
}

// MinBlocks is how many block values an interval takes: Wilcoxon's signed rank has one of 95% from
// 6 on, and Student's of fewer would be wide.
const MinBlocks = 6

// signedRankDistribution returns P(T <= t) for t = 0 ... n(n+1)/2, T being Wilcoxon's
// signed-rank statistic of n values without ties that are symmetric about 0.
func signedRankDistribution(n int) []float64 {
	p := make([]float64, n*(n+1)/2+1)
	p[0] = 1
	top := 0
	for rank := 1; rank <= n; rank++ {
		top += rank
		for t := top; t >= 0; t-- {
			p[t] /= 2
			if t >= rank {
				p[t] += p[t-rank] / 2
			}
		}
	}
	for t := 1; t < len(p); t++ {
		p[t] += p[t-1]
	}
	return p
}

// Comparison is a contender compared with another, as ratios of a quantity: 0.5 is half of it. Low
// and High are 0 and +Inf while there are too few blocks.
type Comparison struct {
	Ratio, Low, High float64
	// HalfWidth is half the interval's width: 0.01 is ±1%. Within is that of the interval without
	// what differs between runs, which more blocks narrow. Both are +Inf with too few blocks.
	HalfWidth, Within float64
	seen              float64 // the least logarithm that is called different, 0 if not known
}

// differenceLevel is the p-value above which nothing is called different: where intervals are wide,
// the margin alone would let too many of equal things be.
const differenceLevel = 0.005

// Below so many blocks the signed rank has few levels to choose from, and Student's intervals are a
// fifth narrower at the same error.
const studentBelow = 10

// Compare estimates the ratio from the block values, with the 95% interval in which a second run
// would find it. between is the standard deviation of the logarithm of what differs between runs,
// and not between blocks of one; 0 for none.
func Compare(blockValues []float64, between float64) Comparison {
	s := Paired(blockValues, differenceLevel)
	if len(blockValues) < MinBlocks {
		return Comparison{math.Exp(s.Value), 0, math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1)}
	}
	low, high := math.Hypot(s.Value-s.Low, 1.96*between), math.Hypot(s.High-s.Value, 1.96*between)
	return Comparison{
		Ratio: math.Exp(s.Value), Low: math.Exp(s.Value - low), High: math.Exp(s.Value + high),
		HalfWidth: (low + high) / 2, Within: (s.High - s.Low) / 2, seen: s.Seen,
	}
}

// Contains reports whether the interval does.
func (c Comparison) Contains(truth float64) bool { return c.Low <= truth && truth <= c.High }

// Needed is the slowdown that would have made the comparison one of something slower, spread as it
// is; 0.02 is 2%.
func (c Comparison) Needed(margin float64) float64 {
	return math.Expm1(max(margin-math.Log(c.Low), c.seen-math.Log(c.Ratio)))
}

// Verdict is the word for a comparison.
type Verdict string

const (
	Faster    Verdict = "faster"
	Slower    Verdict = "slower"
	Same      Verdict = "same"
	Undecided Verdict = "undecided"
)

// Decide gives the verdict of an interval of ratios. Faster and slower need the whole interval to
// lie beyond the margin (0.01: 1%), so that a certain but negligible difference does not count, and
// a test at 0.5% to find a difference too. Same needs the whole interval within two margins of 1.
// All else is undecided: more blocks may decide it.
func Decide(c Comparison, margin float64) Verdict {
	low, high := math.Log(c.Low), math.Log(c.High)
	switch {
	case math.IsNaN(low) || math.IsNaN(high):
		return Undecided
	case high < -margin && (c.seen == 0 || -math.Log(c.Ratio) >= c.seen):
		return Faster
	case low > margin && (c.seen == 0 || math.Log(c.Ratio) >= c.seen):
		return Slower
	case low > -2*margin && high < 2*margin:
		return Same
	}
	return Undecided
}
