package stats

import (
	"math"
	"slices"
	"sort"

	"github.com/aclements/go-moremath/stats"
)

// Shift is how far the values of one sample lie above another's: blocks of two runs, or of two
// programs that took turns in one run (see [Paired]).
type Shift struct {
	// Value is the Hodges-Lehmann estimate; of samples that are not paired, the median of
	// all differences y - x.
	Value float64
	// Low and High bound the exact interval of 95% or a little more; infinite where the
	// samples are too small for one.
	Low, High float64
	// P is the two-sided p-value of the exact test of no shift: Mann and Whitney's, or for paired
	// samples Wilcoxon's signed-rank test.
	P float64
	// Seen is how far above 0 the estimate would have to be for the test to reject at the caller's
	// level, with the same spread. It is +Inf if samples of these sizes cannot reject at that
	// level.
	Seen float64
	// SeenOne is the same at the level of a row that is compared by itself, of [Moderated].
	SeenOne float64
}

// Unpaired returns how far y lies above x, samples of two runs. Shift.Seen is for the two-sided
// level.
//
// It assumes that the two distributions differ only by the shift, and nothing about their shape. It
// is exact for values without ties; tied pairs count against a shift.
//
// Source: Hollander and Wolfe, "Nonparametric Statistical Methods", sections 4.1 to 4.3.
func Unpaired(x, y []float64, level float64) Shift {
	d := make([]float64, 0, len(x)*len(y))
	for _, a := range x {
		for _, b := range y {
			d = append(d, b-a)
		}
	}
	slices.Sort(d)
	return shift(d, mannWhitney(len(x), len(y)), level)
}

// mannWhitney returns P(U <= u), U being the statistic of samples of m and n values from one
// distribution, without ties.
func mannWhitney(m, n int) func(u int) float64 {
	return func(u int) float64 { return stats.UDist{N1: m, N2: n}.CDF(float64(u)) }
}

// shift is how far differences, or averages of pairs of them, lie above 0. They are in
// ascending order; cumulative is the distribution of how many lie on one side of their shift.
func shift(sorted []float64, cumulative func(int) float64, level float64) Shift {
	s := Shift{Value: Median(sorted), Low: math.Inf(-1), High: math.Inf(1), P: 1, Seen: math.Inf(1)}
	if len(sorted) == 0 {
		return s
	}
	if k := rejected(cumulative, len(sorted), 0.05); k > 0 {
		s.Low, s.High = sorted[k-1], sorted[len(sorted)-k]
	}
	if k := rejected(cumulative, len(sorted), level); k > 0 {
		s.Seen = s.Value - sorted[k-1]
	}
	below := sort.Search(len(sorted), func(i int) bool { return sorted[i] > 0 })
	above := len(sorted) - sort.SearchFloat64s(sorted, 0)
	s.P = min(1, 2*cumulative(min(below, above)))
	return s
}

// rejected is the number of values of the statistic, from the least, that the test of
// that two-sided level rejects on one side.
func rejected(cumulative func(int) float64, most int, level float64) int {
	return sort.Search(most+1, func(k int) bool { return cumulative(k) > level/2 })
}
