// Package claims holds what five well-known benchmark pages say, as data, and compares
// it with what was measured here.
//
// A claim is made of measures, each the time of a row as a multiple of another's, beside
// the ratio that the page publishes. Times themselves are not compared, as they are
// another machine's.
//
//  1. A measure holds if its whole 95% interval lies within a factor of [Tolerance] of what
//     was published, as one page's machine is not another's; it differs if the whole
//     interval lies outside; else it is undecided.
//  2. A claim holds if all its measures do, and differs if one does.
//  3. A claim that differs because its page measured something else than it says
//     (a rate limiter, a certificate) was an artefact.
package claims

import (
	"math"

	"postage/lab"
	"postage/record"
)

// Tolerance is the factor within which a ratio counts as reproduced.
const Tolerance = 1.25

// Claim is what a page says.
type Claim struct {
	Number int
	Page   string
	Stage  string // that it is about: "encode"
	Text   string
	// Why says what was wrong with the page, or what explains a difference.
	Why string
	// Artefact says that the figure comes from something else than the page names.
	Artefact bool
	// Measures are none where no stage measures them yet.
	Measures []Measure
}

// Measure is a ratio of two rows' times.
type Measure struct {
	What      string
	Row, Base string
	// Published is the page's time of Row divided by that of Base.
	Published float64
	// AtMost says that anything below the published ratio is as good.
	AtMost bool
}

// Verdict is what became of a claim.
type Verdict string

const (
	Holds        Verdict = "holds"
	Differs      Verdict = "differs"
	WasArtefact  Verdict = "was an artefact"
	Undecided    Verdict = "undecided"
	NotMeasured  Verdict = "not measured"
	NotAvailable Verdict = "not available" // no stage of this program measures it
)

// Finding is a claim with what was measured of it.
type Finding struct {
	Claim
	Verdict Verdict
	Results []Result
}

// Result is a measure with what was measured of it; Here is nil where it was not.
type Result struct {
	Measure
	Here    *lab.Interval
	Verdict Verdict
}

// Patterns select the rows that the claims are about, for `postage run`.
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

// Check compares claims with runs; each measure is taken from the first that has both
// its rows.
func Check(all []Claim, runs []*record.Record) []Finding {
	var findings []Finding
	for _, c := range all {
		f := Finding{Claim: c, Verdict: NotAvailable}
		number := map[Verdict]int{}
		for _, m := range c.Measures {
			r := Result{Measure: m, Verdict: NotMeasured}
			for _, run := range runs {
				if here, ok := lab.RatioOf(run, m.Row, m.Base); ok {
					r.Here, r.Verdict = &here, m.judge(here)
					break
				}
			}
			number[r.Verdict]++
			f.Results = append(f.Results, r)
		}
		for _, verdict := range []Verdict{Differs, NotMeasured, Undecided, Holds} {
			if number[verdict] > 0 {
				f.Verdict = verdict
				break
			}
		}
		if f.Verdict == Differs && c.Artefact {
			f.Verdict = WasArtefact
		}
		findings = append(findings, f)
	}
	return findings
}

func (m *Measure) judge(here lab.Interval) Verdict {
	low, high := m.Published/Tolerance, m.Published*Tolerance
	if m.AtMost {
		low = 0
	}
	switch {
	case here.Low <= 0 || math.IsInf(here.High, 1) || math.IsNaN(here.Value):
		return Undecided
	case here.Low >= low && here.High <= high:
		return Holds
	case here.High < low || here.Low > high:
		return Differs
	}
	return Undecided
}
