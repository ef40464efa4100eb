package loadagainst

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"

	"postage/internal/kit/report"
	"postage/load"
)

var (
	//go:embed page.gohtml
	pageText string
	//go:embed plot.gohtml
	plotText string
	//go:embed page.css
	pageCSS string
)

// HTML writes a page with the answer and both sides' latencies. It needs no network.
func (r *Record) HTML(w io.Writer) error {
	answer := r.Analyze()
	plot, err := report.Fragment(plotText, nil, distribution(sum(r.Pairs)))
	if err != nil {
		return err
	}
	body, err := report.Fragment(pageText, nil, map[string]any{
		"Title": answer.Title(), "Started": answer.Started, "Method": answer.method(), "Cells": report.Cells(columns, answer.Figures), "Level": level, "Notes": answer.notes(), "Plot": plot,
	})
	if err != nil {
		return err
	}
	return report.Page{Title: "load", Command: "load", Style: template.CSS(pageCSS), Body: body}.Write(w)
}

// linePlot is a plot of lines. Its places are in the units of its SVG.
type linePlot struct {
	Title, XAxis             string
	Width, Height            int
	Left, Right, Top, Bottom float64
	X, Y                     []report.Tick
	Curves                   []curve
}

type curve struct{ Class, Name, Path string }

// place is a percentile's place on the axis: the log of the share of slower requests, so that the
// tail has as much room as the rest.
func place(percentile float64) float64 { return -math.Log10(1 - percentile/100) }

// percentiles are twenty for each factor of ten in the share of slower requests, as far as there are
// enough requests.
func percentiles(h load.Histogram) (all []float64) {
	for slower := 1.0; slower*float64(h.TotalCount()) >= 1; slower *= math.Pow(10, -1./20) {
		all = append(all, 100*(1-slower))
	}
	return all
}

// distribution plots both sides' latencies by percentile, over each other.
func distribution(sides [2]Slice) *linePlot {
	const height = 320
	p := &linePlot{Title: "Distribution of latency (log scales)", XAxis: "percentile", Width: report.PlotWidth, Height: height, Left: 64, Right: 870, Top: 12, Bottom: height - report.AxisHeight}
	most, values := 1.0, []float64{}
	for i := range sides {
		for _, percentile := range percentiles(sides[i].Latency) {
			values = append(values, float64(sides[i].Latency.ValueAtQuantile(percentile)))
			most = max(most, place(percentile))
		}
	}
	x, y := report.NewLinear(0, most, p.Left, p.Right), report.NewLog(values, p.Bottom, p.Top)
	for _, percentile := range []float64{0, 50, 90, 99, 99.9, 99.99, 99.999, 99.9999} {
		if place(percentile) <= x.High {
			p.X = append(p.X, report.Tick{At: x.At(place(percentile)), Text: fmt.Sprintf("p%g", percentile)})
		}
	}
	p.Y = y.Ticks(report.Duration)
	for i, c := range []curve{{Class: "c2", Name: "old"}, {Class: "c1", Name: "new"}} {
		h := sides[i].Latency
		all := percentiles(h)
		c.Path = report.Path(len(all), func(i int) (float64, float64) { return x.At(place(all[i])), y.At(float64(h.ValueAtQuantile(all[i]))) })
		p.Curves = append(p.Curves, c)
	}
	return p
}
