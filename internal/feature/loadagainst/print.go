package loadagainst

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"postage/internal/kit/report"
)

// number prints a value in the figure's unit.
func (f *Figure) number(x float64) string {
	switch f.Unit {
	case "ns":
		return report.Duration(x)
	case "% of requests":
		return fmt.Sprintf("%.3g%%", x)
	}
	return report.Brief(x)
}

// signed prints a difference in the figure's unit.
func (f *Figure) signed(x float64) string {
	sign := "+"
	if x < 0 {
		sign = "−"
	}
	return sign + f.number(math.Abs(x))
}

// change prints the ratio, or where there is none the difference, with its interval.
func (f *Figure) change() string {
	if f.Ratio != nil {
		return report.RatioText(*f.Ratio)
	}
	return f.difference()
}

func (f *Figure) difference() string {
	d := f.Difference
	if d.Low == d.High {
		return f.signed(d.Value)
	}
	return fmt.Sprintf("%s (%s to %s)", f.signed(d.Value), f.signed(d.Low), f.signed(d.High))
}

// columns are the table's, on the page too.
var columns = []report.Column[Figure]{
	report.Texts("a request", func(f Figure) string { return f.Name }),
	report.Figures("old", func(f Figure) string { return f.number(f.Old) }),
	report.Figures("new", func(f Figure) string { return f.number(f.New) }),
	report.Texts("new/old", func(f Figure) string { return f.change() }),
	report.Texts("verdict", func(f Figure) string { return cmp.Or(f.Verdict, "no difference seen") }),
	report.Texts("new − old", func(f Figure) string { return f.difference() }).When(report.IfWide),
}

// Form is the answer for scripts: a stable interface.
type Form struct {
	Version int `json:"version"`
	Header
	Pairs int `json:"pairs"`
	Left  int `json:"pairs_left"`
	Result
}

// Form returns the answer for scripts.
func (r *Record) Form() Form {
	return Form{2, r.Header, len(r.Pairs), r.PairsLeft(), *r.Analyze()}
}

// notes are what is to be known beside the figures.
func (f *Form) notes() []string {
	notes := slices.Concat(f.Differing, f.Missing)
	for _, why := range slices.Sorted(maps.Keys(f.Failures)) {
		notes = append(notes, fmt.Sprintf("%s: %d requests of old, %d of new", why, f.Failures[why][0], f.Failures[why][1]))
	}
	if f.Left > 0 {
		notes = append(notes, fmt.Sprintf("%d pairs of slices are not measured yet; the same command with the same --out goes on", f.Left))
	}
	if f.Paused > 0 {
		notes = append(notes, fmt.Sprintf("the generator itself did not run for %v in all; latencies are without what that added", f.Paused.Round(time.Millisecond)))
	}
	return notes
}

// Print writes the answer for a person.
func (r *Record) Print(w io.Writer, form report.Form) error {
	answer := r.Form()
	if form.JSON {
		return report.WriteJSON(w, answer)
	}
	d := &report.Doc{Form: form}
	d.Title(r.Header.Title())
	d.Paragraph("", answer.method())
	report.Table(d, columns, answer.Figures, func(f Figure, text string) string {
		switch {
		case f.Verdict == "":
			return text
		case (f.Verdict == "higher") == (f.Name == onTime):
			return d.Paint(report.Green, text)
		}
		return d.Paint(report.Red, text)
	})
	d.Printf("\n")
	d.Marked("note:", answer.notes()...)
	d.Note(level)
	return d.Print(w)
}

// method says what was sent, and how the sides took turns.
func (f *Form) method() string {
	return fmt.Sprintf("%s, in turns, %d slices of %v each; the first %v after each switch are not counted.", f.Load(), f.Pairs, f.Slice.Round(time.Millisecond), f.Settle)
}

// level says how sure the verdicts are.
var level = fmt.Sprintf("Intervals of 95%% over at most %d blocks of neighbouring slices. Of comparisons of equal sides at most 2%% call any figure different.", mostBlocks)
