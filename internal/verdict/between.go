package verdict

import (
	"math"

	"postage/record"
)

// DefaultBetween is by how much ratios are taken to differ between runs, beyond the spread of the
// blocks of one, where no records of a machine say: a standard deviation of 1%.
const DefaultBetween = 0.01

// Repeated is what several runs of the same rows say of one another.
type Repeated struct {
	// Rows are those that at least two runs have a ratio of.
	Rows int
	// Between is the standard deviation of the logarithm of a ratio between runs, beyond what the
	// blocks within runs explain.
	Between float64
	// Pairs of runs' intervals of a row, and how many of them are Disjoint.
	Pairs, Disjoint int
	// Apart is the largest estimate of a row over its smallest.
	Apart float64
}

// Repeat compares runs of the same code and machine, row by row.
//
// Source of the moment estimator: DerSimonian and Laird, "Meta-analysis in clinical trials",
// Controlled Clinical Trials 7 (1986), pooled over the rows.
func Repeat(records []*record.Record) Repeated {
	type estimate struct{ value, variance, low, high float64 }
	rows := map[string][]estimate{}
	for _, rec := range records {
		for _, c := range Analyze(rec).Cases {
			for _, r := range c.Rows {
				if r == c.Control || r.Ratio == nil || math.IsInf(r.Ratio.HalfWidth, 0) {
					continue
				}
				half := r.Ratio.Within / 1.96
				rows[r.Row.Name] = append(rows[r.Row.Name], estimate{math.Log(r.Ratio.Ratio), half * half, r.Ratio.Low, r.Ratio.High})
			}
		}
	}
	var all Repeated
	var excess, scale float64
	for _, of := range rows {
		if len(of) < 2 {
			continue
		}
		all.Rows++
		var mean, weights, squares, q float64
		least, most := math.Inf(1), math.Inf(-1)
		for i, e := range of {
			w := 1 / max(e.variance, 1e-12)
			mean, weights, squares = mean+w*e.value, weights+w, squares+w*w
			least, most = min(least, e.value), max(most, e.value)
			for _, o := range of[:i] {
				all.Pairs++
				if e.low > o.high || o.low > e.high {
					all.Disjoint++
				}
			}
		}
		mean /= weights
		for _, e := range of {
			q += (e.value - mean) * (e.value - mean) / max(e.variance, 1e-12)
		}
		// Each row counts alike, whatever its precision.
		unit := weights - squares/weights
		excess, scale = excess+(q-float64(len(of)-1))/unit, scale+1
		all.Apart = max(all.Apart, math.Exp(most-least))
	}
	if scale > 0 {
		all.Between = math.Sqrt(max(0, excess/scale))
	}
	return all
}
