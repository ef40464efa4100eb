package loadagainst

import (
	"math"
	"slices"

	"postage/internal/stats"
	"postage/internal/verdict"
	"postage/load"
)

// Figure compares the two sides in one quantity.
type Figure struct {
	Name string `json:"name"`
	Unit string `json:"unit"` // ns, 1/s, bytes, % of requests, "" for a count
	// Old and New are of all slices together.
	Old float64 `json:"old"`
	New float64 `json:"new"`
	// Difference is new less old, in the unit, and Ratio new over old, with their 95% intervals over
	// blocks. A share of failures has no ratio.
	Difference verdict.Interval  `json:"difference"`
	Ratio      *verdict.Interval `json:"ratio"`
	// Blocks is how many blocks of neighbouring pairs this is of.
	Blocks int `json:"blocks"`
	// P is the probability of such a difference between equal sides, adjusted for the number of
	// figures.
	P float64 `json:"p"`
	// Verdict is higher, lower or "".
	Verdict string `json:"verdict"`
}

// Result is a record's answer.
type Result struct {
	Figures []Figure
	// Missing says why there is no answer, or none about some figure.
	Missing []string

	sides [2]block // all slices of each side
}

// mostBlocks is how many blocks there are at most. More would leave too few requests in each for
// its own slowest hundredth.
const mostBlocks = 12

// leastTail is how many requests of a block must be slower than a percentile for that to be known.
const leastTail = 3

// alpha is the probability that equal sides are called different in any figure. margin is a
// difference that is not worth a word, as a ratio's logarithm.
const alpha, margin = 0.02, 0.01

// quantity computes a figure from slices of one side.
type quantity struct {
	name, unit string
	of         func(b *block) float64 // NaN where it is not known
	share      bool                   // it is compared by its difference: it may be 0
	tail       float64                // of a percentile, the share of slower requests
}

func percentile(q float64) func(b *block) float64 {
	return func(b *block) float64 { return float64(b.latency.ValueAtQuantile(q)) }
}

// ratio is one sum over the slices divided by another.
func ratio(part, whole func(s *Slice) float64) func(b *block) float64 {
	return func(b *block) float64 { return b.sum(part) / b.sum(whole) }
}

// perRequest is what the server used for a request.
func perRequest(used func(u *load.ServerUse) *float64) func(b *block) float64 {
	return ratio(func(s *Slice) float64 {
		if s.Server == nil || used(s.Server) == nil {
			return math.NaN()
		}
		return *used(s.Server)
	}, func(s *Slice) float64 { return float64(s.ServerRequests) })
}

var (
	onTime = ratio(func(s *Slice) float64 { return 100 * float64(s.OnTime) }, func(s *Slice) float64 { return float64(s.Due) })
	failed = ratio(func(s *Slice) float64 { return 100 * float64(s.Failed) }, func(s *Slice) float64 { return float64(s.Answered) })
)

var quantities = []quantity{
	{"p50", "ns", percentile(50), false, 0.5},
	{"p90", "ns", percentile(90), false, 0.1},
	{"p99", "ns", percentile(99), false, 0.01},
	{"mean", "ns", func(b *block) float64 { return b.latency.Mean() }, false, 0},
	{"on-time", "% of requests", onTime, true, 0},
	{"errors", "% of requests", failed, true, 0},
	{"cpu", "ns", perRequest(func(u *load.ServerUse) *float64 { return new(1e9 * u.CPUSeconds) }), false, 0},
	{"allocs", "", perRequest(func(u *load.ServerUse) *float64 { return u.Allocations }), false, 0},
	{"bytes", "bytes", perRequest(func(u *load.ServerUse) *float64 { return u.Bytes }), false, 0},
	{"collections", "", perRequest(func(u *load.ServerUse) *float64 { return u.Collections }), false, 0},
}

// Analyze compares the sides over blocks of neighbouring pairs.
func (r *Record) Analyze() *Result {
	out := &Result{Figures: []Figure{}, Missing: []string{}}
	out.sides = divided(r.Pairs)
	if len(r.Pairs) < stats.MinBlocks {
		out.Missing = append(out.Missing, "there are too few slices for an interval: give --duration more")
		return out
	}
	var p []float64
	for _, q := range quantities {
		f := Figure{Name: q.name, Unit: q.unit, Old: q.of(&out.sides[0]), New: q.of(&out.sides[1]), Blocks: min(mostBlocks, len(r.Pairs))}
		if math.IsNaN(f.Old + f.New) {
			continue // nobody measures it
		}
		if q.tail > 0 {
			requests := min(out.sides[0].latency.TotalCount(), out.sides[1].latency.TotalCount())
			f.Blocks = min(f.Blocks, int(float64(requests)*q.tail/leastTail))
		}
		if f.Blocks < stats.MinBlocks {
			out.Missing = append(out.Missing, q.name+" takes more requests: give --duration or --rate more")
			continue
		}
		p = append(p, q.compare(&f, r.Pairs))
		out.Figures = append(out.Figures, f)
	}
	for i, adjusted := range stats.Holm(p) {
		out.Figures[i].decide(adjusted)
	}
	return out
}

// compare fills in a figure, and returns the probability of such a difference between equal sides.
func (q *quantity) compare(f *Figure, pairs []Pair) (p float64) {
	var differences, logs []float64
	for i := range f.Blocks {
		sides := divided(pairs[i*len(pairs)/f.Blocks : (i+1)*len(pairs)/f.Blocks])
		old, now := q.of(&sides[0]), q.of(&sides[1])
		differences = append(differences, now-old)
		logs = append(logs, math.Log(now/old))
	}
	d := paired(differences)
	f.Difference = verdict.Interval{Value: d.Value, Low: d.Low, High: d.High}
	if q.share || slices.ContainsFunc(logs, func(l float64) bool { return math.IsInf(l, 0) || math.IsNaN(l) }) {
		return d.P
	}
	s := paired(logs)
	f.Ratio = &verdict.Interval{Value: math.Exp(s.Value), Low: math.Exp(s.Low), High: math.Exp(s.High)}
	return s.P
}

// paired is stats.Paired, which values that are all alike say nothing to.
func paired(values []float64) stats.Shift {
	if slices.Min(values) == slices.Max(values) {
		s := stats.Shift{Value: values[0], Low: values[0], High: values[0], P: 1}
		if values[0] != 0 {
			s.P = 0
		}
		return s
	}
	return stats.Paired(values, alpha)
}

func (f *Figure) decide(p float64) {
	f.P = p
	low, high := f.Difference.Low, f.Difference.High
	if f.Ratio != nil {
		low, high = math.Log(f.Ratio.Low)-margin, math.Log(f.Ratio.High)+margin
	}
	switch {
	case p <= alpha && low > 0:
		f.Verdict = "higher"
	case p <= alpha && high < 0:
		f.Verdict = "lower"
	}
}

// A block has some neighbouring slices of one side.
type block struct {
	slices  []*Slice
	latency load.Histogram // of all of them
}

// divided returns the slices of pairs by their side.
func divided(pairs []Pair) (sides [2]block) {
	for i := range sides {
		for p := range pairs {
			slice := &pairs[p].Slices[i]
			sides[i].slices = append(sides[i].slices, slice)
			sides[i].latency.Add(slice.Latency)
		}
	}
	return sides
}

func (b *block) sum(what func(s *Slice) float64) (sum float64) {
	for _, s := range b.slices {
		sum += what(s)
	}
	return sum
}
