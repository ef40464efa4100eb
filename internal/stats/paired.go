package stats

import "slices"

// Paired returns by how much differences lie above 0. Each is of two values that belong together:
// block values of two programs in one run. level is that of Shift.Seen, two-sided.
//
// Below ten differences it is Student's, and assumes that they are normal. From there estimate and
// interval are those of Hodges and Lehmann and Wilcoxon's signed rank, which assume that they are
// symmetric about the shift, and nothing more; exact for values without ties, which count against a
// shift.
//
// Source: Hollander and Wolfe, "Nonparametric Statistical Methods", sections 3.1 to 3.3; Hodges and
// Lehmann, "Estimates of location based on rank tests", Annals of Mathematical Statistics 34
// (1963).
func Paired(differences []float64, level float64) Shift {
	if len(differences) < 10 { // the signed rank has few levels, and is wider by a fifth at the same error
		sorted := slices.Sorted(slices.Values(differences)) // the sum must not depend on their order
		s, _ := Moderated([]Grouped{Ungrouped(sorted)}, level, level)
		return s[0]
	}
	return shift(walsh(differences), signedRank(len(differences)), level)
}
