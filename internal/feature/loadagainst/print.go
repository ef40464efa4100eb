package loadagainst

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"time"

	"postage/internal/feature/show"
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
	return fmt.Sprintf("%s (%s to %s)", signed(f.Difference.Value), signed(f.Difference.Low), signed(f.Difference.High))
}

// columns are the table's, on the page too.
var columns = []report.Column[Figure]{
	report.Texts("a request", func(f Figure) string { return f.Name }),
	report.Figures("old", func(f Figure) string { return f.number(f.Old) }),
	report.Figures("new", func(f Figure) string { return f.number(f.New) }),
	report.Texts("new/old", func(f Figure) string { return f.text() }),
	report.Texts("verdict", func(f Figure) string { return string(cmp.Or(f.Verdict, "no difference seen")) }),
	report.Texts("new − old", func(f Figure) string { return f.difference() }).When(report.IfWide),
}

// Notes are what is to be known beside the figures.
func (r *Result) Notes() []string {
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

// Print writes the answer for a person, or for scripts.
func (r *Result) Print(w io.Writer, form report.Form) error {
	if form.JSON {
		return report.WriteJSON(w, r)
	}
	d := &report.Doc{Form: form}
	d.Title(r.Title())
	d.Paragraph("", r.Method())
	report.Table(d, columns, r.Figures, func(_ Figure, text string) string { return show.Colored(d, text) })
	d.Printf("\n")
	d.Marked("note:", r.Notes()...)
	d.Note(r.Level())
	return d.Print(w)
}

// Method says what was sent, and how the sides took turns.
func (r *Result) Method() string {
	return fmt.Sprintf("%s, in turns, %d slices of %v each, the first %v after a switch not counted.", r.Load(), r.Pairs, r.Slice.Round(time.Millisecond), r.Settle)
}

// Level says how sure the verdicts are.
func (r *Result) Level() string {
	return fmt.Sprintf("Intervals of 95%% over at most %d blocks of slices. Of equal sides at most %g%% are called different.", mostBlocks, 100*alpha)
}

var (
	//go:embed page.gohtml
	pageText string
	//go:embed page.css
	pageCSS string
)

// HTML writes a page with the answer and both sides' latencies. It needs no network.
func (r *Result) HTML(w io.Writer) error {
	body, err := report.Fragment(pageText, nil, r)
	if err != nil {
		return err
	}
	return report.Page{Title: "load", Command: "load", Style: template.CSS(pageCSS), Body: body}.Write(w)
}

// Cells are the page's table, a head first.
func (r *Result) Cells() [][]string { return report.Cells(columns, r.Figures) }

// plot has both sides' latencies by percentile, over each other, in the units of the page's SVG.
type plot struct {
	X, Y     []report.Tick
	Old, New string // paths
}

// Plot plots a percentile at the logarithm of the share of slower requests, so that the tail has as
// much room as the rest. It is nil if nothing was measured.
func (r *Result) Plot() *plot {
	if r.Pairs == 0 {
		return nil
	}
	old, now := r.sides[0].Latency, r.sides[1].Latency
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
	p := &plot{Y: y.Ticks(report.Duration), Old: curve(old), New: curve(now)}
	for _, percentile := range []float64{0, 50, 90, 99, 99.9, 99.99, 99.999, 99.9999} {
		if one := 100 / (100 - percentile); one <= most {
			p.X = append(p.X, report.Tick{At: x.At(one), Text: fmt.Sprintf("p%g", percentile)})
		}
	}
	return p
}
