package stats

import (
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Holm returns the p-values adjusted for there being so many of them: to reject those that are at
// most alpha after it bounds the probability of one false rejection or more by alpha, whatever the
// dependence among them. Their order stays; p is left as it is.
//
// Source: Holm, "A simple sequentially rejective multiple test procedure", Scandinavian
// Journal of Statistics 6 (1979).
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	floats.ArgsortStable(slices.Clone(p), order)
	adjusted, least := make([]float64, len(p)), 0.0
	for rank, i := range order {
		least = max(least, min(1, p[i]*float64(len(p)-rank)))
		adjusted[i] = least
	}
	return adjusted
}
