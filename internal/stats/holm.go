package stats

import (
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Holm returns the p-values, in their order, adjusted for their number. A caller who rejects each
// that is at most alpha makes any false rejection with a probability of at most alpha, whatever the
// dependence among them. p does not change.
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
