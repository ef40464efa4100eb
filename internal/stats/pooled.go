package stats

// Pooled is the mean of estimates, each weighted by how well it is known: by its variance, and the
// variance between them. beyond is what the estimates say of the latter where between is 0: what
// their own variances do not explain, which is below 0 by chance.
//
// Source: DerSimonian and Laird, "Meta-analysis in clinical trials", Controlled Clinical Trials 7
// (1986).
func Pooled(values, variances []float64, between float64) (mean, beyond float64) {
	var weights, squares, q float64
	for i, v := range values {
		w := 1 / (variances[i] + between)
		mean, weights, squares = mean+w*v, weights+w, squares+w*w
	}
	mean /= weights
	for i, v := range values {
		q += (v - mean) * (v - mean) / (variances[i] + between)
	}
	if n := float64(len(values)); n > 1 {
		beyond = (q - (n - 1)) / (weights - squares/weights)
	}
	return mean, beyond
}
