package stats

import "math"

// Paired returns by how much differences lie above 0. Each is of two values that belong together:
// block values of two programs in one run. level is that of Shift.Seen, two-sided.
//
// It assumes that differences are symmetric about the shift, and nothing more. It is
// exact for values without ties; ties count against a shift.
//
// Source: Hollander and Wolfe, "Nonparametric Statistical Methods", sections 3.1 to 3.3.
func Paired(differences []float64, level float64) Shift {
	return shift(walsh(differences), signedRankDistribution(len(differences)), level)
}

// PairedBlocksFor is the smallest number of blocks with which [Paired] can reject at the two-sided
// level.
func PairedBlocksFor(level float64) int {
	// All differences on one side, either side: 2 of 2^n.
	return max(1, int(math.Ceil(math.Log2(2/level))))
}
