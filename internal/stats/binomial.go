package stats

import "github.com/aclements/go-moremath/mathx"

// ClopperPearson returns the exact interval for the probability of an event that was
// seen k times in n independent trials. For n = 0 it is all of [0, 1].
//
// Source: Clopper and Pearson, "The use of confidence or fiducial limits illustrated
// in the case of the binomial", Biometrika 26 (1934).
func ClopperPearson(k, n int, confidence float64) (low, high float64) {
	tail := (1 - confidence) / 2
	low, high = 0, 1
	if k > 0 {
		low = betaQuantile(tail, float64(k), float64(n-k+1))
	}
	if k < n {
		high = betaQuantile(1-tail, float64(k+1), float64(n-k))
	}
	return low, high
}

// betaQuantile inverts the regularised incomplete beta function by bisection: it is
// monotone, and 60 halvings exhaust a float64.
func betaQuantile(p, a, b float64) float64 {
	low, high := 0.0, 1.0
	for range 60 {
		middle := (low + high) / 2
		if mathx.BetaInc(middle, a, b) < p {
			low = middle
		} else {
			high = middle
		}
	}
	return (low + high) / 2
}
