package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// ClopperPearson returns the exact interval for the probability of an event that was
// seen k times in n independent trials. For n = 0 it is all of [0, 1]. Of more than 10,000 trials
// it is Wilson's, which is as good there, and of any number can be computed.
//
// Source: Clopper and Pearson, "The use of confidence or fiducial limits illustrated
// in the case of the binomial", Biometrika 26 (1934); Wilson, "Probable inference", JASA 22 (1927).
func ClopperPearson(k, n int, confidence float64) (low, high float64) {
	if n > 10_000 {
		z, n := math.Sqrt2*math.Erfinv(confidence), float64(n)
		p := float64(k) / n
		middle, half := p+z*z/2/n, z*math.Sqrt(p*(1-p)/n+z*z/4/n/n)
		return max(0, (middle-half)/(1+z*z/n)), min(1, (middle+half)/(1+z*z/n))
	}
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
