package stats

import "slices"

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
		return Moderated([][]float64{sorted}, level, level)[0]
	}
	return shift(walsh(differences), signedRank(len(differences)), level)
}
