// Package claims holds what five well-known benchmark pages say, as data, and compares
// it with what was measured here.
//
// A claim has measures. Each is a figure of a row (its time, or what it allocates) as a multiple of
// another row's, beside the ratio that the page publishes. Times themselves are not compared,
// because they are another machine's.
//
//  1. A measure of time holds if its whole 95% interval lies within a factor of [Tolerance] of the
//     published ratio, because machines differ. It differs if the whole interval lies outside.
//     Otherwise it is undecided.
//  2. A measure with an upper limit ("no slower" is a ratio of at most 1) holds if the whole
//     interval lies below the limit × [NoMore]. Tolerance does not apply.
//  3. Allocations are counted, not estimated: they have no interval, and hold or differ. If the page
//     publishes none, none are allowed.
//  4. A claim holds if all its measures do, and differs if one does.
//  5. Some pages measured something else than they say (a rate limiter, a certificate). Their claim
//     was an artefact if it holds the page's way, and differs once that is put right.
//
// [Claims.Print] prints the result.
package claims

import (
	"fmt"
	"math"
	"slices"

	"postage/internal/verdict"
	"postage/record"
)

// Verdict is the verdict on a claim.
type Verdict string

const (
	Holds        Verdict = "holds"
	Differs      Verdict = "differs"
	WasArtefact  Verdict = "was an artefact"
	Undecided    Verdict = "undecided"
	NotMeasured  Verdict = "not measured"
	NotAvailable Verdict = "not available" // no stage of this program measures it
)

// Tolerance is the factor within which a ratio counts as reproduced. NoMore is the factor by which
// a ratio may exceed an upper limit ("no slower"): a smaller difference does not matter, even if it
// is certain.
const (
	Tolerance = 1.25
	NoMore    = 1.02
)

// Claims are published claims with their verdicts, and how to read them.
type Claims struct {
	List []Claim
	Note string // how the figures and the verdicts are to be read
}

// Claim is what someone published, beside what was measured of it here. Its JSON is a stable
// interface.
type Claim struct {
	Number   int       `json:"number"`
	Page     string    `json:"page"`  // where it was published
	Stage    string    `json:"stage"` // "encode"
	Text     string    `json:"claim"`
	Verdict  string    `json:"verdict"`  // "holds"
	Why      string    `json:"why"`      // what was wrong with the page, or explains a difference
	Measures []Measure `json:"measures"` // none if no stage measures the claim
}

// Measure is a row's figure as a multiple of another row's.
type Measure struct {
	What      string  `json:"what"`
	Of        Figure  `json:"of"`
	Row       string  `json:"row"`
	Base      string  `json:"base"`
	Published float64 `json:"published_ratio"`
	AtMost    bool    `json:"at_most"` // anything below Published is as good
	// Implied says that the page has no such rows: Published is what its claim would mean for them.
	Implied bool `json:"implied"`
	// Here is the measured ratio. Counts is what each row allocates an operation. Both are nil if
	// nothing was measured; Here is also nil if the base allocates nothing.
	Here    *verdict.Interval `json:"here_ratio"`
	Counts  *[2]int64         `json:"here_counts"`
	Verdict string            `json:"verdict"`
}

// Figure is what a claim is about.
type Figure string

const (
	Time   Figure = "time"
	Allocs Figure = "allocs" // heap objects an operation
	Bytes  Figure = "bytes"  // heap bytes an operation
)

// Patterns select the claims' rows, for `postage run`.
func Patterns(all []Claim) []string {
	var patterns []string
	seen := map[string]bool{}
	for _, c := range all {
		for _, m := range c.Measures {
			for _, row := range []string{m.Row, m.Base} {
				if !seen[row] {
					seen[row] = true
					patterns = append(patterns, row)
				}
			}
		}
	}
	return patterns
}

// Check compares claims with runs. Each measure is taken from the first run that has both its rows.
func Check(all []Claim, runs []*record.Record) Claims {
	results := make([]map[string]*verdict.Result, len(runs))
	for i, run := range runs {
		results[i] = byRow(run)
	}
	checked := Claims{Note: fmt.Sprintf("Published and measured figures are ratios. Ratios of times have 95%% intervals. A claim holds if they lie within a factor of %v of what was published, or below what it allows at most (times: give or take %.0f%%); allocations are counted, and none published means none allowed.", Tolerance, 100*(NoMore-1))}
	for _, c := range all {
		number := map[Verdict]int{}
		own, held := 0, 0 // measures the page's own way
		c.Measures = slices.Clone(c.Measures)
		for i := range c.Measures {
			m, found := &c.Measures[i], NotMeasured
			for r := 0; r < len(runs) && found == NotMeasured; r++ {
				found = take(m, runs[r], results[r])
			}
			m.Verdict = string(found)
			number[found]++
			if !m.Implied {
				own++
				if found == Holds {
					held++
				}
			}
		}
		became := NotAvailable
		for _, v := range []Verdict{Differs, NotMeasured, Undecided, Holds} {
			if number[v] > 0 {
				became = v
				break
			}
		}
		if became == Differs && own > 0 && held == own {
			became = WasArtefact
		}
		c.Verdict = string(became)
		checked.List = append(checked.List, c)
	}
	return checked
}

func byRow(run *record.Record) map[string]*verdict.Result {
	rows := map[string]*verdict.Result{}
	for _, c := range verdict.Analyze(run).Cases {
		for _, r := range c.Rows {
			rows[r.Row.Name] = r
		}
	}
	return rows
}

// take fills in the measure from a run. The verdict is NotMeasured if a row has no figures.
func take(m *Measure, run *record.Record, rows map[string]*verdict.Result) Verdict {
	switch m.Of {
	case Allocs, Bytes:
		a, b := count(rows[m.Row], m.Of), count(rows[m.Base], m.Of)
		if a == nil || b == nil {
			return NotMeasured
		}
		m.Counts = &[2]int64{*a, *b}
		if *b != 0 {
			m.Here = new(verdict.Exactly(float64(*a) / float64(*b)))
		}
		return judgeCounts(m, *a, *b)
	}
	ratio, ok := verdict.RatioOf(run, m.Row, m.Base)
	if !ok {
		return NotMeasured
	}
	m.Here = &ratio
	return judge(m, ratio)
}

func count(r *verdict.Result, figure Figure) *int64 {
	switch {
	case r == nil:
		return nil
	case figure == Allocs:
		return r.AllocsOp
	}
	return r.BytesOp
}

// bounds are the smallest and the largest ratio that hold. An upper limit may be exceeded by the
// factor slack.
func bounds(m *Measure, slack float64) (low, high float64) {
	if m.AtMost {
		return 0, m.Published * slack
	}
	return m.Published / Tolerance, m.Published * Tolerance
}

func judge(m *Measure, ratio verdict.Interval) Verdict {
	low, high := bounds(m, NoMore)
	switch {
	case ratio.Low <= 0 || math.IsInf(ratio.High, 1) || math.IsNaN(ratio.Value):
		return Undecided
	case ratio.Low >= low && ratio.High <= high:
		return Holds
	case ratio.High < low || ratio.Low > high:
		return Differs
	}
	return Undecided
}

// judgeCounts multiplies instead of dividing, because the base may allocate nothing.
func judgeCounts(m *Measure, row, base int64) Verdict {
	low, high := bounds(m, 1)
	if x, y := float64(row), float64(base); x >= low*y && x <= high*y {
		return Holds
	}
	return Differs
}
