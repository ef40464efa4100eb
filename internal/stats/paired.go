package stats

import (
	"math"
	"slices"
	"sort"
)

// Paired returns how far differences lie above 0. Each is the difference of two values that belong
// together: block values of two programs in one run. Shift.Seen is for the two-sided level.
//
// Below ten differences it is Student's test, which assumes that they are normal. From ten on it is
// the estimate of Hodges and Lehmann, with Wilcoxon's signed rank. They only assume that the
// differences are symmetric about the shift. The interval is exact for values without ties. Ties
// count against a shift.
//
// Source: Hollander and Wolfe, "Nonparametric Statistical Methods", sections 3.1 to 3.3; Hodges and
// Lehmann, "Estimates of location based on rank tests", Annals of Mathematical Statistics 34
// (1963).
func Paired(differences []float64, level float64) Shift {
	if len(differences) < 10 { // the signed rank has few levels, and is wider by a fifth at the same error
		sorted := slices.Sorted(slices.Values(differences)) // the sum must not depend on their order
		return Moderated([][]float64{sorted}, nil, level, level)[0]
	}
	return hodgesLehmann(differences, level)
}

func hodgesLehmann(differences []float64, level float64) Shift {
	sorted, cumulative := walsh(differences), signedRank(len(differences))
	s := Shift{Value: Median(sorted), Seen: math.Inf(1)}
	k := rejected(cumulative, len(sorted), 0.05)
	s.Low, s.High = sorted[k-1], sorted[len(sorted)-k]
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
