package loadagainst

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"postage/internal/feature/loadpage"
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

// Form is the answer for scripts: a stable interface.
type Form struct {
	Version int `json:"version"`
	Compared
	Pairs    int       `json:"pairs"`
	Left     int       `json:"pairs_left"`
	Figures  []Figure  `json:"figures"`
	Failures []Failure `json:"failures"`
	Notes    []string  `json:"notes"`
}

// Form returns the answer for scripts.
func (r *Record) Form() Form {
	result := r.Analyze()
	return Form{1, r.Header.Compared, len(r.Pairs), r.PairsLeft(), result.Figures, report.List(result.failures()), r.notes(result)}
}

// notes are what is to be known beside the figures.
func (r *Record) notes(result *Result) []string {
	return report.List(append(slices.Clone(r.Header.Notes), result.Missing...))
}

// Print writes the answer for a person.
func (r *Record) Print(w io.Writer, form report.Form) error {
	if form.JSON {
		return report.WriteJSON(w, r.Form())
	}
	d, h, result := &report.Doc{Form: form}, &r.Header, r.Analyze()
	d.Title(fmt.Sprintf("%s instead of %s", h.New, h.Old))
	d.Paragraph("", r.method())
	columns := []report.Column[Figure]{
		report.Texts("a request", func(f Figure) string { return f.Name }),
		report.Figures("old", func(f Figure) string { return f.number(f.Old) }),
		report.Figures("new", func(f Figure) string { return f.number(f.New) }),
		report.Texts("new/old", func(f Figure) string { return f.change() }),
		report.Texts("", func(f Figure) string { return f.verdict() }),
		report.Texts("new − old", func(f Figure) string { return f.difference() }).When(report.IfWide),
	}
	report.Table(d, columns, result.Figures, func(f Figure, text string) string {
		switch {
		case f.Verdict == "higher" && f.Name != "on-time", f.Verdict == "lower" && f.Name == "on-time":
			return d.Paint(report.Red, text)
		case f.Verdict != "":
			return d.Paint(report.Green, text)
		}
		return text
	})
	d.Printf("\n")
	for _, why := range result.failures() {
		d.Item(why.Text, fmt.Sprintf("%d requests of old, %d of new", why.Old, why.New))
	}
	d.Marked("note:", r.notes(result)...)
	if left := r.PairsLeft(); left > 0 {
		d.Marked("note:", fmt.Sprintf("%d pairs of slices are not measured yet; the same command with the same --out goes on", left))
	}
	paused := func(s *Slice) float64 { return float64(s.Paused) }
	if all := result.sides[0].sum(paused) + result.sides[1].sum(paused); all > 0 {
		d.Note(fmt.Sprintf("The generator itself did not run for %v in all; latencies are without what that added.", time.Duration(all).Round(time.Millisecond)))
	}
	d.Note(level)
	return d.Print(w)
}

// method says what was sent, and how the sides took turns.
func (r *Record) method() string {
	h := &r.Header
	how := fmt.Sprintf("in turns, %d slices of %v each; the first %v after each switch are not counted", len(r.Pairs), h.Slice.Round(time.Millisecond), h.Settle)
	if h.AtOnce {
		how = fmt.Sprintf("half of them to each at once, %d slices of %v", len(r.Pairs), h.Slice.Round(time.Millisecond))
	}
	return fmt.Sprintf("%s, %s requests a second, %s.", h.What, report.Brief(h.Rate), how)
}

// level says how sure the verdicts are.
var level = fmt.Sprintf("Intervals of 95%% over at most %d blocks of neighbouring slices. Of comparisons of equal sides at most 2%% call any figure different.", mostBlocks)

func (f *Figure) verdict() string { return cmp.Or(f.Verdict, "no difference seen") }

// Failure is a reason for failures, with how many requests of each side had it.
type Failure struct {
	Text string `json:"reason"`
	Old  int64  `json:"old"`
	New  int64  `json:"new"`
}

func (r *Result) failures() (all []Failure) {
	counts := map[string]*Failure{}
	for i := range r.sides {
		for _, slice := range r.sides[i].slices {
			for why, n := range slice.Errors {
				if counts[why] == nil {
					counts[why] = &Failure{Text: why}
				}
				if i == 0 {
					counts[why].Old += n
				} else {
					counts[why].New += n
				}
			}
		}
	}
	for _, why := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, *counts[why])
	}
	return all
}

//go:embed page.gohtml
var pageText string

// HTML writes a page with the answer and both sides' latencies. It needs no network.
func (r *Record) HTML(w io.Writer) error {
	result := r.Analyze()
	all := func(float64) bool { return true }
	plot, err := loadpage.Distribution(
		loadpage.Distributed{Name: "old: " + r.Header.Old, Quantiles: loadpage.Quantiles(result.sides[0].latency, all)},
		loadpage.Distributed{Name: "new: " + r.Header.New, Quantiles: loadpage.Quantiles(result.sides[1].latency, all)})
	if err != nil {
		return err
	}
	figure := template.FuncMap{
		"number": (*Figure).number, "change": (*Figure).change, "difference": (*Figure).difference, "verdict": (*Figure).verdict,
	}
	body, err := report.Fragment(pageText, figure, map[string]any{
		"Header": r.Header, "Figures": result.Figures, "Notes": r.notes(result), "Failures": result.failures(), "Plot": plot, "Method": r.method(), "Level": level,
	})
	if err != nil {
		return err
	}
	return loadpage.Write(w, body)
}
