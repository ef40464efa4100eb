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
