package loadagainst

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"postage/internal/stats"
	"postage/internal/verdict"
)

// Figure compares the two sides in one quantity: a percentile or the mean of latencies, or one of a
// slice's totals over its requests.
type Figure struct {
	Name string `json:"name"`
	Unit string `json:"unit"` // ns, bytes, % of requests, "" for a count
	// Old and New are of all slices together.
	Old float64 `json:"old"`
	New float64 `json:"new"`
	// Difference is new less old, in the unit, and Ratio new over old, with their 95% intervals over
	// blocks. A share of requests has no ratio, as it may be 0.
	Difference verdict.Interval  `json:"difference"`
	Ratio      *verdict.Interval `json:"ratio"`
	// Blocks is how many blocks of neighbouring pairs this is of.
	Blocks int `json:"blocks"`
	// P is the probability of such a difference between equal sides, adjusted for the number of
	// figures.
	P float64 `json:"p"`
	// Verdict is higher, lower or "".
	Verdict verdict.Verdict `json:"verdict"`

	tail float64 // of a percentile: the share of slower requests
}

// Result is a record's answer, and its form for scripts: a stable interface.
type Result struct {
	Version int `json:"version"`
	Header
	Pairs   int      `json:"pairs"`
	Left    int      `json:"pairs_left"`
	Figures []Figure `json:"figures"`
	// Missing says why there is no answer, or none about some figure.
	Missing []string `json:"missing"`
	// Failures are how many requests of the old side failed, by reason, and how many of the new.
	Failures [2]map[string]int64 `json:"failures"`
	// Paused is how long the generator itself did not run.
	Paused time.Duration `json:"generator_paused_ns"`

	sides [2]Slice // of all pairs
}

// mostBlocks is how many blocks there are at most. More would leave too few requests in each for
// its own slowest hundredth.
const mostBlocks = 12

// leastTail is how many requests of a block must be slower than a percentile for that to be known.
const leastTail = 3

// alpha is the probability that equal sides are called different in any figure. margin is the
// greatest change that is not worth a word: 1%, or of a share 0.01 percentage points.
const alpha, margin = 0.02, 0.01

// share is the unit of a count of requests.
const share = "% of requests"

// figures are all figures, before anything is known of the sides.
var figures = []Figure{
	{Name: "p50", Unit: "ns", tail: 0.5},
	{Name: "p90", Unit: "ns", tail: 0.1},
	{Name: "p99", Unit: "ns", tail: 0.01},
	{Name: "mean", Unit: "ns"},
	{Name: "late", Unit: share},
	{Name: "errors", Unit: share},
	{Name: "cpu", Unit: "ns"},
	{Name: "allocs"},
	{Name: "bytes", Unit: "bytes"},
	{Name: "collections"},
}

// in returns the figure's value in one side's slices, NaN where nobody measures it.
func (f *Figure) in(s *Slice) float64 {
	total, known := s.Totals[f.Name]
	switch {
	case f.tail > 0:
		return float64(s.Latency.ValueAtQuantile(100 * (1 - f.tail)))
	case f.Name == "mean":
		return s.Latency.Mean()
	case !known:
		return math.NaN()
	case f.Unit == share:
		total *= 100
	}
	return total / float64(s.Due)
}

// Analyze compares the sides over blocks of neighbouring pairs.
func (r *Record) Analyze() *Result {
	sides := sum(r.Pairs)
	out := &Result{
		Version: 2, Header: r.Header, Pairs: len(r.Pairs), Left: r.PairsLeft(),
		Figures: []Figure{}, Missing: []string{}, Failures: [2]map[string]int64{sides[0].Errors, sides[1].Errors},
		Paused: time.Duration(sides[0].Totals["paused"] + sides[1].Totals["paused"]), sides: sides,
	}
	if len(r.Pairs) < stats.MinBlocks {
		out.Missing = append(out.Missing, "there are too few slices for an interval: give --duration more")
		return out
	}
	requests := float64(min(sides[0].Latency.TotalCount(), sides[1].Latency.TotalCount()))
	var p []float64
	for _, f := range figures {
		f.Old, f.New = f.in(&sides[0]), f.in(&sides[1])
		if f.Blocks = min(mostBlocks, len(r.Pairs)); f.tail > 0 {
			f.Blocks = min(f.Blocks, int(requests*f.tail/leastTail))
		}
		switch {
		case math.IsNaN(f.Old + f.New):
		case f.Blocks < stats.MinBlocks:
			out.Missing = append(out.Missing, f.Name+" takes more requests: give --duration or --rate more")
		default:
			f.compare(r.Pairs)
			p = append(p, f.P)
			out.Figures = append(out.Figures, f)
		}
	}
	for i, adjusted := range stats.Holm(p) {
		f := &out.Figures[i]
		f.P = adjusted
		switch change := f.change(); {
		case adjusted > alpha:
		case change.Low > margin:
			f.Verdict = verdict.Higher
		case change.High < -margin:
			f.Verdict = verdict.Lower
		}
	}
	return out
}

// compare finds the difference and the ratio, and how probable they are between equal sides.
func (f *Figure) compare(pairs []Pair) {
	if f.Old == 0 && f.New == 0 {
		f.P = 1
		return
	}
	var differences, logs []float64
	for i := range f.Blocks {
		sides := sum(pairs[i*len(pairs)/f.Blocks : (i+1)*len(pairs)/f.Blocks])
		old, now := f.in(&sides[0]), f.in(&sides[1])
		differences = append(differences, now-old)
		if f.Unit != share && old > 0 && now > 0 {
			logs = append(logs, math.Log(now/old))
		}
	}
	f.Difference, f.P = verdict.Located(differences), stats.Paired(differences, alpha).P
	if len(logs) == f.Blocks {
		f.Ratio, f.P = new(verdict.Compare(logs)), stats.Paired(logs, alpha).P
	}
}

// change is by how much the new side is higher: relative to the old one where there is a ratio.
func (f *Figure) change() verdict.Interval {
	if f.Ratio == nil {
		return f.Difference
	}
	return f.Ratio.Each(func(ratio float64) float64 { return ratio - 1 })
}

// sum adds up the slices of each side.
func sum(pairs []Pair) (sides [2]Slice) {
	for i := range sides {
		all := &sides[i]
		all.Errors, all.Totals = map[string]int64{}, map[string]float64{}
		for p := range pairs {
			s := &pairs[p][i]
			all.Due += s.Due
			all.Latency.Add(s.Latency)
			for why, n := range s.Errors {
				all.Errors[why] += n
			}
			for what, n := range s.Totals {
				all.Totals[what] += n
			}
		}
	}
	return sides
}

// Limits are by how much figures may be higher on the new side: 0.05 for 5%, and for a share of
// requests percentage points.
type Limits map[string]float64

// Set adds a limit, such as p99:5% or errors:0.
func (l Limits) Set(text string) error {
	name, most, _ := strings.Cut(text, ":")
	number, percent := strings.CutSuffix(most, "%")
	limit, err := strconv.ParseFloat(number, 64)
	at := slices.IndexFunc(figures, func(f Figure) bool { return f.Name == name })
	if at < 0 || err != nil || !(limit >= 0) || math.IsInf(limit, 0) || !percent && limit != 0 {
		var names []string
		for _, f := range figures {
			names = append(names, f.Name)
		}
		return fmt.Errorf("want a figure and how much higher it may be, such as p99:5%% or errors:0; figures are %s", strings.Join(names, ", "))
	}
	if figures[at].Unit != share {
		limit /= 100
	}
	l[name] = limit
	return nil
}

// Judge returns the worst outcome, and a line for each limit.
func (r *Result) Judge(limits Limits) (outcome verdict.Outcome, lines []string) {
	outcome = verdict.Passed
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		one, why := verdict.Inconclusive, "it is not known"
		for i := range r.Figures {
			if f := &r.Figures[i]; f.Name == name {
				one, why = verdict.Gate(f.change(), f.P, limits[name]), f.text()
			}
		}
		if outcome == verdict.Passed || one == verdict.Regressed {
			outcome = one
		}
		lines = append(lines, fmt.Sprintf("--gate %s: %s: %s", name, one, why))
	}
	return outcome, lines
}
