package stats

import "gonum.org/v1/gonum/mathext"

// ClopperPearson returns the exact interval for the probability of an event that was
// seen k times in n independent trials. For n = 0 it is all of [0, 1].
//
// Source: Clopper and Pearson, "The use of confidence or fiducial limits illustrated
// in the case of the binomial", Biometrika 26 (1934).
func ClopperPearson(k, n int, confidence float64) (low, high float64) {
	tail := (1 - confidence) / 2
	low, high = 0, 1
	if k > 0 {
		low = mathext.InvRegIncBeta(float64(k), float64(n-k+1), tail)
	}
	if k < n {
		high = mathext.InvRegIncBeta(float64(k+1), float64(n-k), 1-tail)
	}
	return low, high
}
