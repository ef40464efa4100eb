package stats

import (
	"math"
	"slices"
)

// Shift is by how much the values of one sample lie above those of another: blocks of
// two runs, or of two programs that took turns in one (see [Paired]).
type Shift struct {
	// Value is the Hodges-Lehmann estimate; of samples that are not paired, the median of
	// all differences y - x.
	Value float64
	// Low and High bound the exact interval of 95% or a little more; infinite where the
	// samples are too small for one.
	Low, High float64
	// P is the two-sided p-value of the exact test of no shift: that of Mann and Whitney,
	// or of paired samples Wilcoxon's signed-rank test.
	P float64
	// Seen is by how much the estimate would have to be above 0, with differences
	// spread as they are, for the test to reject at the level that was asked for; +Inf
	// where samples of these sizes cannot reject at that level.
	Seen float64
	// SeenOne is the same at the level of a row that is compared by itself, of [Moderated].
	SeenOne float64
}

// Unpaired compares samples of two runs. It keeps the distributions it has computed, so
// one is used for all rows of a comparison; it is not for concurrent use.
type Unpaired struct{ cumulative map[[2]int][]float64 }

// Shift returns by how much y lies above x. level is that of Shift.Seen, two-sided.
//
// It assumes that the two distributions differ only by the shift, and nothing about their shape. It
// is exact for values without ties; tied pairs count against a shift.
//
// Source: Hollander and Wolfe, "Nonparametric Statistical Methods", sections 4.1 to 4.3.
func (u *Unpaired) Shift(x, y []float64, level float64) Shift {
	d := make([]float64, 0, len(x)*len(y))
	for _, a := range x {
		for _, b := range y {
			d = append(d, b-a)
		}
	}
	slices.Sort(d)
	return shift(d, u.distribution(len(x), len(y)), level)
}

// shift is by how much differences, or averages of pairs of them, lie above 0. They are in
// ascending order; cumulative is the distribution of how many lie on one side of their shift.
func shift(sorted, cumulative []float64, level float64) Shift {
	s := Shift{Value: Median(sorted), Low: math.Inf(-1), High: math.Inf(1), P: 1, Seen: math.Inf(1)}
	if len(sorted) == 0 {
		return s
	}
	if k := rejected(cumulative, 0.05); k > 0 {
		s.Low, s.High = sorted[k-1], sorted[len(sorted)-k]
	}
	if k := rejected(cumulative, level); k > 0 {
		s.Seen = s.Value - sorted[k-1]
	}
	below, above := 0, 0
	for _, v := range sorted {
		if v <= 0 {
			below++
		}
		if v >= 0 {
			above++
		}
	}
	s.P = min(1, 2*cumulative[min(below, above)])
	return s
}

// rejected is the number of values of the statistic, from the least, that the test of
// that two-sided level rejects on one side.
func rejected(cumulative []float64, level float64) int {
	k := 0
	for k < len(cumulative) && cumulative[k] <= level/2 {
		k++
	}
	return k
}

// distribution returns P(U <= u) for u = 0 ... mn, U being the Mann-Whitney statistic
// of samples of m and n values from one distribution, without ties.
//
// The largest of all values is one of the n with probability n/(m+n), and then exceeds
// all m of the others; which gives P(m, n) from P(m, n-1) and P(m-1, n).
func (u *Unpaired) distribution(m, n int) []float64 {
	if c, ok := u.cumulative[[2]int{m, n}]; ok {
		return c
	}
	previous := make([][]float64, n+1) // of i-1 and each j
	for i := 0; i <= m; i++ {
		current := make([][]float64, n+1)
		for j := 0; j <= n; j++ {
			p := make([]float64, i*j+1)
			if i == 0 || j == 0 {
				p[0] = 1
			} else {
				fromN, fromM := float64(j)/float64(i+j), float64(i)/float64(i+j)
				for v, q := range current[j-1] {
					p[v+i] += fromN * q
				}
				for v, q := range previous[j] {
					p[v] += fromM * q
				}
			}
			current[j] = p
		}
		previous = current
	}
	c := previous[n]
	for v := 1; v < len(c); v++ {
		c[v] += c[v-1]
	}
	if u.cumulative == nil {
		u.cumulative = map[[2]int][]float64{}
	}
	u.cumulative[[2]int{m, n}] = c
	return c
}
