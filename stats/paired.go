package stats

import (
	"math"
	"slices"
)

// Paired returns by how much differences lie above 0. Each is of two values that belong together:
// block values of two programs in one run. level is that of Shift.Seen, two-sided.
//
// It assumes that differences are symmetric about the shift, and nothing more. It is
// exact for values without ties; ties count against a shift.
//
// Source: Hollander and Wolfe, "Nonparametric Statistical Methods", sections 3.1 to 3.3.
func Paired(differences []float64, level float64) Shift {
	w := walsh(differences)
	if len(w) == 0 {
		return Shift{Value: math.NaN(), Low: math.Inf(-1), High: math.Inf(1), P: 1, Seen: math.Inf(1)}
	}
	s := Shift{Value: Median(w), Low: math.Inf(-1), High: math.Inf(1), Seen: math.Inf(1)}
	cumulative := signedRankDistribution(len(differences))
	for t := 1; t < len(cumulative); t++ {
		cumulative[t] += cumulative[t-1]
	}
	if k := rejected(cumulative, 0.05); k > 0 {
		s.Low, s.High = w[k-1], w[len(w)-k]
	}
	if k := rejected(cumulative, level); k > 0 {
		s.Seen = s.Value - w[k-1]
	}
	below := len(w) - len(slices.DeleteFunc(slices.Clone(w), func(v float64) bool { return v <= 0 }))
	above := len(w) - len(slices.DeleteFunc(slices.Clone(w), func(v float64) bool { return v >= 0 }))
	s.P = min(1, 2*cumulative[min(below, above)])
	return s
}

// PairedBlocksFor is the smallest number of blocks with which [Paired] can reject at the two-sided
// level.
func PairedBlocksFor(level float64) int {
	// All differences on one side, either side: 2 of 2^n.
	return max(1, int(math.Ceil(math.Log2(2/level))))
}
