package loadagainst

import (
	"math"
	"slices"
	"time"

	"postage/internal/stats"
	"postage/internal/verdict"
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
	Figures []Figure `json:"figures"`
	// Missing says why there is no answer, or none about some figure.
	Missing []string `json:"missing"`
	// Failures are how many requests of the old and the new side failed, by reason.
	Failures map[string][2]int64 `json:"failures"`
	// Paused is how long the generator itself did not run.
	Paused time.Duration `json:"generator_paused_ns"`
}

// mostBlocks is how many blocks there are at most. More would leave too few requests in each for
// its own slowest hundredth.
const mostBlocks = 12

// leastTail is how many requests of a block must be slower than a percentile for that to be known.
const leastTail = 3

// alpha is the probability that equal sides are called different in any figure. margin is a
// difference that is not worth a word, as a ratio's logarithm.
const alpha, margin = 0.02, 0.01

// quantity computes a figure from the sum of some slices of one side.
type quantity struct {
	name, unit string
	of         func(s *Slice) float64 // NaN where it is not known
	share      bool                   // it is compared by its difference: it may be 0
	tail       float64                // of a percentile, the share of slower requests
}

func percentile(name string, tail float64) quantity {
	return quantity{name: name, unit: "ns", tail: tail, of: func(s *Slice) float64 { return float64(s.Latency.ValueAtQuantile(100 * (1 - tail))) }}
}

func share(name string, of func(s *Slice) float64) quantity {
	return quantity{name: name, unit: "% of requests", share: true, of: of}
}

// perRequest is what the server used for a request.
func perRequest(name, unit string) quantity {
	return quantity{name: name, unit: unit, of: func(s *Slice) float64 {
		if used, known := s.Used[name]; known {
			return used / float64(s.UsedFor)
		}
		return math.NaN()
	}}
}

// onTime is the figure of which less is worse.
const onTime = "on-time"

var quantities = []quantity{
	percentile("p50", 0.5),
	percentile("p90", 0.1),
	percentile("p99", 0.01),
	{name: "mean", unit: "ns", of: func(s *Slice) float64 { return s.Latency.Mean() }},
	share(onTime, func(s *Slice) float64 { return 100 * float64(s.OnTime) / float64(s.Due) }),
	share("errors", func(s *Slice) float64 { return 100 * float64(s.failed()) / float64(s.Answered) }),
	perRequest("cpu", "ns"),
	perRequest("allocs", ""),
	perRequest("bytes", "bytes"),
	perRequest("collections", ""),
}

// Analyze compares the sides over blocks of neighbouring pairs.
func (r *Record) Analyze() *Result {
	sides := sum(r.Pairs)
	out := &Result{Figures: []Figure{}, Missing: []string{}, Failures: map[string][2]int64{}, Paused: sides[0].Paused + sides[1].Paused}
	for i := range sides {
		for why, n := range sides[i].Errors {
			both := out.Failures[why]
			both[i] = n
			out.Failures[why] = both
		}
	}
	if len(r.Pairs) < stats.MinBlocks {
		out.Missing = append(out.Missing, "there are too few slices for an interval: give --duration more")
		return out
	}
	var p []float64
	for _, q := range quantities {
		f := Figure{Name: q.name, Unit: q.unit, Old: q.of(&sides[0]), New: q.of(&sides[1]), Blocks: min(mostBlocks, len(r.Pairs))}
		if math.IsNaN(f.Old + f.New) {
			continue // nobody measures it
		}
		if q.tail > 0 {
			requests := min(sides[0].Latency.TotalCount(), sides[1].Latency.TotalCount())
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
		sides := sum(pairs[i*len(pairs)/f.Blocks : (i+1)*len(pairs)/f.Blocks])
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

// sum adds up the slices of each side.
func sum(pairs []Pair) (sides [2]Slice) {
	for i := range sides {
		all := Slice{Errors: map[string]int64{}, Used: map[string]float64{}}
		for p := range pairs {
			s := &pairs[p][i]
			all.Due += s.Due
			all.OnTime += s.OnTime
			all.Answered += s.Answered
			all.Latency.Add(s.Latency)
			all.Paused += s.Paused
			all.UsedFor += s.UsedFor
			for why, n := range s.Errors {
				all.Errors[why] += n
			}
			for what, n := range s.Used {
				all.Used[what] += n
			}
		}
		sides[i] = all
	}
	return sides
}

func (s *Slice) failed() (n int64) {
	for _, count := range s.Errors {
		n += count
	}
	return n
}
