// Package stats is the mathematics of Postage and nothing else: it knows no clock,
// no file and no contender.
//
// The path from batches to an interval, by which package verdict decides:
//
//  1. A row's batches of a block are one value: the logarithm of the sum of their CPU time over the
//     sum of their operations, less the baseline's. Of contenders with a server [MeanBlockValue]
//     takes the mean over the rounds of the logarithm of their ratio.
//  2. Blocks come from freshly started processes and are what varies independently:
//     address layout, heap layout, placement. Batches within a block are not
//     independent of one another and are never counted as if they were.
//  3. [Paired] gives the estimate of the block values and its interval: Student's below ten blocks,
//     from there Hodges and Lehmann's with the exact signed rank.
package stats

import (
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// Median returns the median of x, the mean of the middle two if their number is
// even, NaN for no values. x is left as it is.
func Median(x []float64) float64 { return stats.Sample{Xs: x}.Quantile(0.5) }

// MeanBlockValue is the block value of a contender that waits for another process, whose slow and
// fast batches are both part of the work. It is the mean over the rounds of ln(t/base), where t[i]
// and base[i] are the times per operation, in one unit, of the two batches of round i.
func MeanBlockValue(t, base []float64) float64 {
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

// MinBlocks is how many block values an interval takes. Student's t is 3.2 with three degrees of
// freedom and 2 with many. With fewer blocks the interval would say little.
const MinBlocks = 4

// signedRank returns P(T <= t) for t = 0 ... n(n+1)/2, T being Wilcoxon's signed-rank statistic of
// n values without ties that are symmetric about 0.
func signedRank(n int) func(t int) float64 {
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
	return func(t int) float64 { return p[t] }
}
