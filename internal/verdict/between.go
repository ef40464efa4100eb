package verdict

import (
	"math"
	"slices"

	"postage/internal/stats"
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
func Repeat(records []*record.Record) Repeated {
	rows := map[string][]*Comparison{}
	for _, rec := range records {
		for _, c := range Analyze(rec).Cases {
			for _, r := range c.Rows {
				if r != c.Control && r.Ratio != nil && r.Ratio.Bounded() {
					rows[r.Row.Name] = append(rows[r.Row.Name], r.Ratio)
				}
			}
		}
	}
	all, beyond := Repeated{}, 0.0
	for _, runs := range rows {
		if len(runs) < 2 {
			continue
		}
		all.Rows++
		var values, variances []float64
		for i, a := range runs {
			sd := max(1e-6, a.Within/1.96)
			values, variances = append(values, math.Log(a.Value)), append(variances, sd*sd)
			for _, b := range runs[:i] {
				all.Pairs++
				if a.Low > b.High || b.Low > a.High {
					all.Disjoint++
				}
			}
		}
		_, between := stats.Pooled(values, variances, 0)
		beyond += between // each row counts alike, whatever its precision
		all.Apart = max(all.Apart, math.Exp(slices.Max(values)-slices.Min(values)))
	}
	all.Between = math.Sqrt(max(0, beyond/float64(max(1, all.Rows))))
	return all
}
