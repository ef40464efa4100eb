package history

import (
	"cmp"
	"math"
	"slices"

	"postage/internal/stats"
)

// minSegment is how many values there must be on either side of a change for it to be found.
const minSegment = 5

// changePoints finds where the values of a series, such as a row's ratio from run to run, became
// larger or smaller. It finds a change in a series without one with a probability of at most about
// level. Before and After of what it returns are medians of the values.
//
//  1. The series is divided where the ranks before and after differ most, if chance does not explain
//     it (see split), and then each part again. Ranks make a run beside a noisy neighbour weigh as
//     much as any other.
//  2. Neighbouring values may be correlated (AR(1), up to about 0.6), as on a machine that has good
//     and bad days. So changes are looked for again after the correlation is removed (see
//     whitened), until their number stays the same.
//
// No value may be NaN.
//
// Source: Lausen and Schumacher, "Maximally selected rank statistics", Biometrics 48 (1992).
func changePoints(x []float64, level float64) []Change {
	found := divided(x, 0, level)
	for n := math.MaxInt; len(found) > 0 && len(found) < n; {
		n = len(found)
		found = divided(whitened(x, found), 0, level)
	}
	changes := make([]Change, len(found))
	for i, f := range found {
		from, to := 0, len(x)
		if i > 0 {
			from = found[i-1].at
		}
		if i+1 < len(found) {
			to = found[i+1].at
		}
		changes[i] = Change{Point: f.at, Before: stats.Median(x[from:f.at]), After: stats.Median(x[f.at:to]), P: math.Exp(f.logP)}
	}
	return changes
}

// division is a place where a series divides beyond chance.
type division struct {
	at   int
	logP float64
}

// divided returns the changes in uncorrelated values, in their order. The first value has the index
// from.
func divided(x []float64, from int, level float64) []division {
	at, logP := split(x)
	if at == 0 || logP > math.Log(level) {
		return nil
	}
	found := append(divided(x[:at], from, level), division{from + at, logP})
	return append(found, divided(x[at:], from+at, level)...)
}

// split finds after how many values the ranks before and after differ most, 0 if nowhere. logP is
// the logarithm of the probability that values in random order differ as much anywhere.
//
// At each place the sum of the ranks before it has the mean and variance of the Wilcoxon test. Its
// greatest standardised value z has about the tail of a Brownian bridge (Miller and Siegmund,
// "Maximally selected chi square statistics", Biometrics 38, 1982). Ranks have a shorter tail,
// since z² is at most n-1. So z is replaced by a normal variable with the likelihood ratio of the
// correlation between ranks and sides, with Fisher's n-3.
func split(x []float64) (at int, logP float64) {
	n := float64(len(x))
	ranks := centredRanks(x)
	variance := (n*n - 1) / 12
	sum, most := 0.0, 0.0
	for i := range max(0, len(x)-minSegment) {
		sum += ranks[i]
		before := float64(i + 1)
		square := sum * sum / (before * (n - before) * variance) // z²/(n-1)
		if i+1 >= minSegment && square > most {
			at, most = i+1, square
		}
	}
	if at == 0 {
		return 0, 0
	}
	ratio := -(n - 3) * math.Log(1-most)
	z, edge := math.Sqrt(ratio), minSegment/n
	tail := (4/z + max(0, z-1/z)*2*math.Log((1-edge)/edge)) / math.Sqrt(2*math.Pi)
	return at, min(0, math.Log(tail)-ratio/2)
}

// centredRanks returns the values' ranks less their mean. Equal values share the mean of their
// ranks.
func centredRanks(x []float64) []float64 {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	ranks := make([]float64, len(x))
	for i := 0; i < len(x); {
		j := i + 1
		for j < len(x) && x[order[j]] == x[order[i]] {
			j++
		}
		rank := float64(i+j-len(x)) / 2
		for _, at := range order[i:j] {
			ranks[at] = rank
		}
		i = j
	}
	return ranks
}

// whitened removes from each value its correlation with the one before: e[i] = x[i] - rho·x[i-1].
// The result behaves like values in random order, and a change stays where it is.
//
// rho is the correlation between each rank and the next, about the means of the stretches between
// the changes. Subtracting each mean lowers rho by (1+3·rho)/n, which is added again (Marriott and
// Pope, "Bias in the estimation of autocorrelations", Biometrika 41, 1954). 0.9 of the standard
// error, about 1/√n, is added too, because too little whitening invents changes.
func whitened(x []float64, found []division) []float64 {
	product, square, from := 0.0, 0.0, 0
	ranks := centredRanks(x)
	for i := range len(found) + 1 {
		to := len(x)
		if i < len(found) {
			to = found[i].at
		}
		part := ranks[from:to]
		centre(part)
		for j, v := range part {
			square += v * v
			if j > 0 {
				product += v * part[j-1]
			}
		}
		from = to
	}
	n, means := float64(len(x)), float64(len(found)+1)
	rho := (product/square+means/n)/max(0.5, 1-3*means/n) + 0.9/math.Sqrt(n)
	rho = min(0.9, max(0, rho))
	e := make([]float64, len(x))
	e[0] = (1 - rho) * x[0]
	for i := 1; i < len(x); i++ {
		e[i] = x[i] - rho*x[i-1]
	}
	return e
}

// centre subtracts the mean.
func centre(x []float64) {
	mean := 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for i := range x {
		x[i] -= mean
	}
}
