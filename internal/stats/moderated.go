package stats

import (
	"math"
	"sort"

	"github.com/aclements/go-moremath/stats"
	"gonum.org/v1/gonum/mathext"
)

// Moderated compares many rows at once, each by the mean of its differences between two programs and
// Student's test. Differences of a row must be independent: blocks, or the means of blocks with the
// same function layout. The less the rows' variances differ beyond chance, the more the test moves
// each towards the variance of all rows. A row with few differences then has no small or large
// variance by chance alone. Shift.Seen is for the two-sided level, Shift.SeenOne for the level one.
// least are the rows' smallest believable variances, nil for none: a row whose variance comes out
// smaller, by chance, has this one.
//
// Source: Smyth, "Linear models and empirical Bayes methods for assessing differential expression
// in microarray experiments", Statistical Applications in Genetics and Molecular Biology 3 (2004),
// sections 4 and 6.2.
func Moderated(rows [][]float64, least []float64, level, one float64) (shifts []Shift) {
	// A variance of 0 is one that was rounded away: a millionth part.
	const rounded = 1e-12
	type row struct{ n, mean, variance float64 }
	var summaries []row
	var logs, degrees []float64
	for _, differences := range rows {
		r := row{n: float64(len(differences)), mean: math.NaN()}
		if len(differences) > 0 {
			r.mean = stats.Mean(differences)
		}
		if len(differences) > 1 {
			r.variance = max(rounded, stats.Variance(differences))
			logs, degrees = append(logs, math.Log(r.variance)), append(degrees, r.n-1)
		}
		summaries = append(summaries, r)
	}
	prior, variance := shrunkTo(logs, degrees)
	for i, r := range summaries {
		s := Shift{Value: r.mean, Low: math.Inf(-1), High: math.Inf(1), P: 1, Seen: math.Inf(1), SeenOne: math.Inf(1)}
		if own := r.n - 1; own >= 1 {
			student := stats.TDist{V: min(own+prior, 1e4)}
			pooled := r.variance
			if prior > 0 {
				pooled = (prior*variance + own*r.variance) / (prior + own)
			}
			if least != nil {
				pooled = max(pooled, least[i])
			}
			se := math.Sqrt(pooled / r.n)
			quantile := stats.InvCDF(student)
			half := -quantile(0.05/2) * se
			s.Low, s.High = s.Value-half, s.Value+half
			s.Seen, s.SeenOne = -quantile(level/2)*se, -quantile(one/2)*se
			s.P = min(1, 2*student.CDF(-math.Abs(s.Value)/se))
		}
		shifts = append(shifts, s)
	}
	return shifts
}

// shrunkTo finds the variance that rows' variances move towards, and the degrees of freedom that it
// counts for. logs are the logarithms of the rows' variances. With too few rows it counts for none.
func shrunkTo(logs, degrees []float64) (prior, variance float64) {
	const fewest, most = 3, 1e4
	if len(logs) < fewest {
		return 0, 0
	}
	e, chance := make([]float64, len(logs)), 0.0
	for i, d := range degrees {
		e[i] = logs[i] - mathext.Digamma(d/2) + math.Log(d/2)
		chance += mathext.Zeta(2, d/2) / float64(len(degrees))
	}
	beyond := stats.Variance(e) - chance
	prior = most
	if beyond > 0 { // the inverse of trigamma, zeta of 2
		const steps = 1 << 40
		at := func(step int) float64 { return math.Exp(-10 + (10+math.Log(most/2))*float64(step)/steps) }
		prior = 2 * at(sort.Search(steps, func(step int) bool { return mathext.Zeta(2, at(step)) <= beyond }))
	}
	return prior, math.Exp(stats.Mean(e) + mathext.Digamma(prior/2) - math.Log(prior/2))
}
