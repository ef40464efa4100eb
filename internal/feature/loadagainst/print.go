package loadagainst

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"postage/internal/feature/show"
	"postage/internal/kit/report"
	"postage/internal/verdict"
	"postage/load"
	"postage/record"
)

// Result is what a record says of its sides.
type Result struct {
	*verdict.Changes
	Figures []Figure // those that are known
}

// Figure is a figure of both sides.
type Figure struct {
	Name string // p99
	verdict.MetricChange
}

// Analyze compares the sides of a record.
func Analyze(rec *record.Record, limits Limits) *Result {
	r := &Result{Changes: verdict.ComparePaired(rec, verdict.Thresholds{Time: most, Metrics: limits})}
	for _, row := range r.Rows {
		for _, f := range figures {
			for _, m := range row.Metrics {
				if m.Unit == f.unit {
					r.Figures = append(r.Figures, Figure{f.name, m})
				}
			}
		}
	}
	r.Warnings = slices.Concat(rec.Run.Warnings, r.Warnings)
	for i, side := range []string{"old", "new"} {
		properties := rec.Rows[i].Properties
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			if why, is := strings.CutPrefix(name, failed); is {
				r.Warnings = append(r.Warnings, fmt.Sprintf("%s: %s: %s requests", side, why, properties[name]))
			}
		}
	}
	if !rec.Run.Complete {
		r.Warnings = append(r.Warnings, "it was interrupted: the same command with the same --out goes on")
	}
	return r
}

// most is a threshold for the mean latency alone, which is among the figures: it is always kept.
const most = 1e9

// Limits are by how much figures may be higher on the new side, by their units: 0.05 for 5%, and for
// a share of requests for 5 percentage points.
type Limits map[string]float64

// Set adds a limit, such as p99:5% or errors:0.
func (l Limits) Set(text string) error {
	name, limit, _ := strings.Cut(text, ":")
	number, percent := strings.CutSuffix(limit, "%")
	share, err := strconv.ParseFloat(number, 64)
	var names []string
	for _, f := range figures {
		if names = append(names, f.name); f.name == name && err == nil && share >= 0 && share < most && (percent || share == 0) {
			l[f.unit] = share / 100
			return nil
		}
	}
	return fmt.Errorf("want a figure and how much higher it may be, such as p99:5%% or errors:0; figures are %s", strings.Join(names, ", "))
}

// number prints a value in the figure's unit.
func (f *Figure) number(x float64) string {
	switch {
	case strings.Contains(f.Unit, "-ns"):
		return report.Duration(x)
	case f.Name == "late" || f.Name == "errors":
		return fmt.Sprintf("%.3g%%", 100*x)
	}
	return report.Brief(x)
}

// Text prints the ratio, or where there is none the difference, with its interval.
func (f *Figure) Text() string {
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
	return report.Known(f.Difference, func(d verdict.Interval) string {
		if d.Low == d.High {
			return signed(d.Value)
		}
		return fmt.Sprintf("%s (%s to %s)", signed(d.Value), signed(d.Low), signed(d.High))
	})
}

// columns are the table's, on the page too.
var columns = []report.Column[Figure]{
	report.Texts("a request", func(f Figure) string { return f.Name }),
	report.Figures("old", func(f Figure) string { return f.number(f.Old) }),
	report.Figures("new", func(f Figure) string { return f.number(f.New) }),
	report.Texts("new/old", func(f Figure) string { return f.Text() }),
	report.Texts("verdict", func(f Figure) string { return string(f.Verdict) }),
	report.Texts("new − old", func(f Figure) string { return f.difference() }).When(report.IfWide),
}

// Print writes the answer for a person, or for scripts.
func (r *Result) Print(w io.Writer, form report.Form) error {
	if form.JSON {
		return show.ChangesJSON(w, r.Changes)
	}
	d := &report.Doc{Form: form}
	d.Title(r.New.Run.Patterns[0])
	d.Paragraph("", r.Method())
	report.Table(d, columns, r.Figures, func(_ Figure, text string) string { return show.Colored(d, text) })
	d.Printf("\n")
	d.Marked("note:", r.Warnings...)
	d.Note(level)
	return d.Print(w)
}

// Method says what was sent, and how the sides took turns.
func (r *Result) Method() string {
	return fmt.Sprintf("%s, in turns: %s.", r.New.Run.Patterns[1], r.New.Rows[0].Settings["turns"])
}

// level says how sure the verdicts are.
const level = "Student's 95% intervals over the blocks. Of equal sides at most 2% are called different."

var (
	//go:embed page.gohtml
	pageText string
	//go:embed page.css
	pageCSS string
)

// HTML writes a page with the answer and both sides' latencies. It needs no network.
func (r *Result) HTML(w io.Writer) error {
	data := map[string]any{"R": r, "Level": level, "Cells": report.Cells(columns, r.Figures), "Plot": r.plot()}
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

// plot plots a percentile at the logarithm of the share of slower requests, so that the tail has as
// much room as the rest.
func (r *Result) plot() plot {
	var sides [2]load.Histogram
	for i := range sides {
		for _, s := range r.New.SeriesOf(&r.New.Rows[i]) {
			if h, err := s.Latencies(); err == nil {
				sides[i].Add(load.Histogram{Histogram: h})
			}
		}
	}
	old, now := sides[0], sides[1]
	most := float64(max(old.TotalCount(), now.TotalCount()))
	x := report.NewLog([]float64{1, most}, 64, 870)
	y := report.NewLog([]float64{float64(min(old.Min(), now.Min())), float64(max(old.Max(), now.Max()))}, 280, 12)
	curve := func(h load.Histogram) string {
		points := h.CumulativeDistributionWithTicks(5)
		return report.Path(len(points), func(i int) (float64, float64) {
			one := 100 / (100 - points[i].Quantile) // of so many requests one is slower
			return x.At(min(one, float64(h.TotalCount()))), y.At(float64(points[i].ValueAt))
		})
	}
	p := plot{Y: y.Ticks(report.Duration), Old: curve(old), New: curve(now)}
	for _, percentile := range []float64{0, 50, 90, 99, 99.9, 99.99, 99.999, 99.9999} {
		if one := 100 / (100 - percentile); one <= most {
			p.X = append(p.X, report.Tick{At: x.At(one), Text: fmt.Sprintf("p%g", percentile)})
		}
	}
	return p
}
