package stats

import (
	"math"
	"slices"
	"sort"

	"github.com/aclements/go-moremath/stats"
	"gonum.org/v1/gonum/mathext"
)

// Grouped is a row's differences between two programs, in groups that each share an offset: blocks
// of programs with the same function layout. Only the groups' means vary independently.
type Grouped [][]float64

// means are the groups' means. spread is the standard deviation of the groups' offsets, without
// what the differences within groups explain. It is 0 if no group has two differences.
//
// Source: Searle, Casella and McCulloch, "Variance Components", section 3.6.
func (g Grouped) means() (means []float64, spread float64) {
	all, squares, within := 0.0, 0.0, 0.0
	for _, group := range g {
		mean := stats.Mean(group)
		means = append(means, mean)
		all, squares = all+float64(len(group)), squares+float64(len(group)*len(group))
		for _, d := range group {
			within += (d - mean) * (d - mean)
		}
	}
	if n := float64(len(g)); n > 1 && all > n {
		size := (all - squares/all) / (n - 1)
		spread = math.Sqrt(max(0, stats.Variance(means)-within/(all-n)/size))
	}
	return means, spread
}

// Ungrouped makes each difference a group of its own.
func Ungrouped(differences []float64) Grouped {
	return slices.Collect(slices.Chunk(differences, 1))
}

// Moderated compares many rows at once: each by the mean of its groups and Student's test. The less
// the rows' variances differ beyond chance, the more the test moves each towards the variance of
// all rows. A row with few groups then has no small or large variance by chance alone. Shift.Seen
// is for the two-sided level, Shift.SeenOne for the level one.
//
// Source: Smyth, "Linear models and empirical Bayes methods for assessing differential expression
// in microarray experiments", Statistical Applications in Genetics and Molecular Biology 3 (2004),
// sections 4 and 6.2.
func Moderated(rows []Grouped, level, one float64) (shifts []Shift, spreads []float64) {
	// A variance of 0 is one that was rounded away: a millionth part.
	const least = 1e-12
	type row struct{ n, mean, variance float64 }
	var summaries []row
	var logs, degrees []float64
	for _, g := range rows {
		means, spread := g.means()
		r := row{n: float64(len(means)), mean: math.NaN()}
		if len(means) > 0 {
			r.mean = stats.Mean(means)
		}
		if len(means) > 1 {
			r.variance = max(least, stats.Variance(means))
			logs, degrees = append(logs, math.Log(r.variance)), append(degrees, r.n-1)
		}
		summaries, spreads = append(summaries, r), append(spreads, spread)
	}
	prior, variance := shrunkTo(logs, degrees)
	for _, r := range summaries {
		s := Shift{Value: r.mean, Low: math.Inf(-1), High: math.Inf(1), P: 1, Seen: math.Inf(1), SeenOne: math.Inf(1)}
		if own := r.n - 1; own >= 1 {
			student := stats.TDist{V: min(own+prior, 1e4)}
			pooled := r.variance
			if prior > 0 {
				pooled = (prior*variance + own*r.variance) / (prior + own)
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
	return shifts, spreads
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
