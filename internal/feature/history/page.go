package history

import (
	_ "embed"
	"fmt"
	"io"

	"postage/internal/kit/report"
)

// The edges of a trend's plot, in the units of its SVG. page/history.gohtml has the same numbers.
const (
	plotLeft   = 64
	plotRight  = 890
	plotTop    = 22
	plotBottom = 190
)

//go:embed page/history.gohtml
var pageText string

// plot is a trend as the page's template shows it.
type plot struct {
	*Trend
	Ticks           []report.Tick
	Bars, Line, Dot string // paths: the intervals, a line through the estimates, a dot for each
	Marks           []mark // the changes
}

// mark is a line across a plot where the row changed.
type mark struct {
	At               float64
	Held, Text, Kind string // Held is SVG's text-anchor
}

// HTML writes a page with the plot and the figures of each trend.
func HTML(w io.Writer, row string, trends []*Trend) error {
	var plots []*plot
	for _, t := range trends {
		plots = append(plots, newPlot(t))
	}
	body, err := report.Fragment(pageText, nil, map[string]any{"Row": row, "Plots": plots})
	if err != nil {
		return err
	}
	return report.Page{Title: row, Command: "history", Body: body}.Write(w)
}

func newPlot(t *Trend) *plot {
	low, high := t.Points[0].Ratio.Value, t.Points[0].Ratio.Value
	for _, p := range t.Points {
		low, high = min(low, p.Ratio.Value), max(high, p.Ratio.Value)
	}
	room := max(high-low, 0.02*high) / 3
	y := report.NewLinear(max(0, low-room), high+room, plotBottom, plotTop)
	x := report.NewLinear(0, float64(max(1, len(t.Points)-1)), plotLeft+8, plotRight-8)
	v := &plot{Trend: t, Ticks: y.Ticks(report.TickText)}
	v.Line = report.Path(len(t.Points), func(i int) (float64, float64) { return x.At(float64(i)), y.At(t.Points[i].Ratio.Value) })
	for i, p := range t.Points {
		at := x.At(float64(i))
		v.Dot += fmt.Sprintf("M%g %gh0", at, y.At(p.Ratio.Value))
		if p.Ratio.Bounded() {
			v.Bars += fmt.Sprintf("M%g %gV%g", at, y.At(p.Ratio.Low), y.At(p.Ratio.High))
		}
	}
	for _, c := range t.Changes {
		m := mark{At: x.At(float64(c.Point) - 0.5), Held: "start", Text: c.text(), Kind: "faster"}
		if m.At > (plotLeft+plotRight)/2 { // so that the text stays in the picture
			m.Held = "end"
		}
		if c.Factor > 1 {
			m.Kind = "slower"
		}
		v.Marks = append(v.Marks, m)
	}
	return v
}

// Day is the day on which a run was started.
func (p *Point) Day() string { return p.started()[:min(10, len(p.started()))] }

func (v *plot) First() *Point { return &v.Points[0] }
func (v *plot) Last() *Point  { return &v.Points[len(v.Points)-1] }

// The tables of the page, with all columns, a head first.
func (v *plot) Summary() string         { return v.summary() }
func (v *plot) Causes() []string        { return v.causes() }
func (v *plot) ChangeTable() [][]string { return report.Cells(v.changeColumns(), v.changes()) }
func (v *plot) FigureTable() [][]string { return report.Cells(v.pointColumns(), v.points()) }
