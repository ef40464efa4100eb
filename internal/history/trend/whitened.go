package trend

import "math"

// whitened removes from each value its correlation with the one before: e[i] = x[i] - rho·x[i-1],
// for a series that changes only at the cuts. The result behaves like values in random order, and a
// change stays where it is. rho is that of the normal scores of the ranks, which outliers hardly
// move.
func whitened(x []float64, cuts []int) []float64 {
	var s energyScan
	s.ranks(denseRanks(x))
	z := make([]float64, len(x))
	for i := range z {
		z[i] = math.Sqrt2 * math.Erfinv(float64(s.rank[i]+1)/float64(len(x))-1)
	}
	rho := autocorrelation(z, cuts)
	e := z
	e[0] = (1 - rho) * x[0]
	for i := 1; i < len(x); i++ {
		e[i] = x[i] - rho*x[i-1]
	}
	return e
}

// autocorrelation is the correlation of each score with the one after it, about the means of the
// segments between the cuts; from 0 to 0.9.
//
// Subtracting each mean lowers it by (1+3·rho)/n, which is added again (Marriott and Pope, "Bias in
// the estimation of autocorrelations", Biometrika 41, 1954). So is 0.9 of the standard error, about
// 1/√n: too little whitening invents changes.
func autocorrelation(z []float64, cuts []int) float64 {
	var product, square float64
	from, n, means := 0, float64(len(z)), float64(len(cuts)+1)
	for i := range len(cuts) + 1 {
		to := len(z)
		if i < len(cuts) {
			to = cuts[i]
		}
		mean := 0.0
		for _, v := range z[from:to] {
			mean += v / float64(to-from)
		}
		for j := from; j < to; j++ {
			square += (z[j] - mean) * (z[j] - mean)
			if j > from {
				product += (z[j] - mean) * (z[j-1] - mean)
			}
		}
		from = to
	}
	if square == 0 {
		return 0
	}
	rho := (product/square + means/n) / max(0.5, 1-3*means/n)
	return min(0.9, max(0, rho+0.9/math.Sqrt(n)))
}
