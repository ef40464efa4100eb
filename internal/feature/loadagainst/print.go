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

	"postage/internal/kit/report"
	"postage/load"
)

// number prints a value in the figure's unit.
func (f *Figure) number(x float64) string {
	switch f.Unit {
	case "ns":
		return report.Duration(x)
	case share:
		return fmt.Sprintf("%.3g%%", x)
	}
	return report.Brief(x)
}

// text prints the ratio, or where there is none the difference, with its interval.
func (f *Figure) text() string {
	if f.Ratio != nil {
		return report.RatioText(*f.Ratio)
	}
	return f.difference()
}

func (f *Figure) difference() string {
	signed := func(x float64) string {
		if x < 0 {
			return "−" + f.number(-x)
		}
		return "+" + f.number(x)
	}
	d := f.Difference
	if d.Low == d.High {
		return signed(d.Value)
	}
	return fmt.Sprintf("%s (%s to %s)", signed(d.Value), signed(d.Low), signed(d.High))
}

// columns are the table's, on the page too.
var columns = []report.Column[Figure]{
	report.Texts("a request", func(f Figure) string { return f.Name }),
	report.Figures("old", func(f Figure) string { return f.number(f.Old) }),
	report.Figures("new", func(f Figure) string { return f.number(f.New) }),
	report.Texts("new/old", func(f Figure) string { return f.text() }),
	report.Texts("verdict", func(f Figure) string { return cmp.Or(f.Verdict, "no difference seen") }),
	report.Texts("new − old", func(f Figure) string { return f.difference() }).When(report.IfWide),
}

// notes are what is to be known beside the figures.
func (r *Result) notes() []string {
	notes := slices.Concat(r.Differing, r.Missing)
	for i, side := range []string{"old", "new"} {
		for _, why := range slices.Sorted(maps.Keys(r.Failures[i])) {
			notes = append(notes, fmt.Sprintf("%s: %s: %d requests", side, why, r.Failures[i][why]))
		}
	}
	if r.Left > 0 {
		notes = append(notes, fmt.Sprintf("%d pairs of slices are left: the same command with the same --out goes on", r.Left))
	}
	if r.Paused > 0 {
		notes = append(notes, fmt.Sprintf("the generator itself did not run for %v; latencies are without it", r.Paused.Round(time.Millisecond)))
	}
	return notes
}

// Print writes the answer for a person.
func (r *Record) Print(w io.Writer, form report.Form) error {
	answer := r.Analyze()
	if form.JSON {
		return report.WriteJSON(w, answer)
	}
	d := &report.Doc{Form: form}
	d.Title(r.Header.Title())
	d.Paragraph("", answer.method())
	report.Table(d, columns, answer.Figures, func(f Figure, text string) string {
		switch f.Verdict {
		case "higher":
			return d.Paint(report.Red, text)
		case "lower":
			return d.Paint(report.Green, text)
		}
		return text
	})
	d.Printf("\n")
	d.Marked("note:", answer.notes()...)
	d.Note(level)
	return d.Print(w)
}

// method says what was sent, and how the sides took turns.
func (r *Result) method() string {
	return fmt.Sprintf("%s, in turns, %d slices of %v each, the first %v after a switch not counted.", r.Load(), r.Pairs, r.Slice.Round(time.Millisecond), r.Settle)
}

// level says how sure the verdicts are.
var level = fmt.Sprintf("Intervals of 95%% over at most %d blocks of slices. Of equal sides at most 2%% are called different.", mostBlocks)

var (
	//go:embed page.gohtml
	pageText string
	//go:embed page.css
	pageCSS string
)

// HTML writes a page with the answer and both sides' latencies. It needs no network.
func (r *Record) HTML(w io.Writer) error {
	answer := r.Analyze()
	data := map[string]any{
		"Title": answer.Title(), "Started": answer.Started, "Method": answer.method(), "Level": level, "Notes": answer.notes(),
		"Cells": report.Cells(columns, answer.Figures),
	}
	if len(r.Pairs) > 0 {
		data["Plot"] = newPlot(sum(r.Pairs))
	}
	body, err := report.Fragment(pageText, nil, data)
	if err != nil {
		return err
	}
	return report.Page{Title: "load", Command: "load", Style: template.CSS(pageCSS), Body: body}.Write(w)
}

// plot has both sides' latencies by percentile, over each other, in the units of the page's SVG.
type plot struct {
	X, Y     []report.Tick
	Old, New string // paths
}

// newPlot plots a percentile at the logarithm of the share of slower requests, so that the tail has
// as much room as the rest.
func newPlot(sides [2]Slice) plot {
	old, now := sides[0].Latency, sides[1].Latency
	most := float64(max(1, old.TotalCount(), now.TotalCount()))
	x := report.NewLog([]float64{1, most}, 64, 870)
	y := report.NewLog([]float64{float64(min(old.Min(), now.Min())), float64(max(old.Max(), now.Max()))}, 280, 12)
	curve := func(h load.Histogram) string {
		const steps = 20 // for each factor of ten in the share
		points := 1 + int(steps*math.Log10(float64(max(1, h.TotalCount()))))
		return report.Path(points, func(i int) (float64, float64) {
			slower := math.Pow(10, -float64(i)/steps)
			return x.At(1 / slower), y.At(float64(h.ValueAtQuantile(100 * (1 - slower))))
		})
	}
	p := plot{Y: y.Ticks(report.Duration), Old: curve(old), New: curve(now)}
	for _, percentile := range []float64{0, 50, 90, 99, 99.9, 99.99, 99.999, 99.9999} {
		if one := 100 / (100 - percentile); one <= most { // of so many requests one is slower
			p.X = append(p.X, report.Tick{At: x.At(one), Text: fmt.Sprintf("p%g", percentile)})
		}
	}
	return p
}
