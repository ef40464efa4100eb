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
	type runs struct{ values, variances, low, high []float64 }
	rows := map[string]*runs{}
	for _, rec := range records {
		for _, c := range Analyze(rec).Cases {
			for _, r := range c.Rows {
				if r == c.Control || r.Ratio == nil || !r.Ratio.Bounded() {
					continue
				}
				of := rows[r.Row.Name]
				if of == nil {
					of = &runs{}
					rows[r.Row.Name] = of
				}
				sd := max(1e-6, r.Ratio.Within/1.96)
				of.values, of.variances = append(of.values, math.Log(r.Ratio.Value)), append(of.variances, sd*sd)
				of.low, of.high = append(of.low, r.Ratio.Low), append(of.high, r.Ratio.High)
			}
		}
	}
	all, beyond := Repeated{}, 0.0
	for _, of := range rows {
		if len(of.values) < 2 {
			continue
		}
		all.Rows++
		for i := range of.values {
			for j := range i {
				all.Pairs++
				if of.low[i] > of.high[j] || of.low[j] > of.high[i] {
					all.Disjoint++
				}
			}
		}
		_, between := stats.Pooled(of.values, of.variances, 0)
		beyond += between // each row counts alike, whatever its precision
		all.Apart = max(all.Apart, math.Exp(slices.Max(of.values)-slices.Min(of.values)))
	}
	all.Between = math.Sqrt(max(0, beyond/float64(max(1, all.Rows))))
	return all
}
