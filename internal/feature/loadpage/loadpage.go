// Package loadpage makes a page of a load: the result, second by second, and the distribution of
// latency.
package loadpage

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"net/url"
	"slices"
	"time"

	"postage/internal/kit/report"
	"postage/load"
)

// Page is what a load's page shows.
type Page struct {
	// What says what was sent, where and how.
	What    string
	Started time.Time
	Load    *load.Summary
	Seconds []Second
	// Distribution has latencies by rising percentile, none if the load is not valid.
	Distribution []Quantile
}

// Second has the answers that came in one second of a load, or in several.
type Second struct {
	From, To      float64 // s since the load began
	Done, Failed  int64
	P50, P99, Max float64 // ns; 0 if no answer came
}

// Quantile says that Percentile percent of the requests had a latency of at most NS.
type Quantile struct{ Percentile, NS float64 }

// What says what is sent and how; place prints where the first request goes.
func What(t *load.Target, place func(*url.URL) string) string {
	all := t.All()
	first := all[0]
	what := cmp.Or(t.RPC, first.Method)
	if len(all) > 1 {
		what = fmt.Sprintf("%d requests, the first %s", len(all), what)
	}
	return fmt.Sprintf("%s %s by %s", what, place(first.URL), t.Proto)
}

// New is the page about a load on a target.
func New(t *load.Target, r *load.Result, began time.Time, seconds []Second) Page {
	what := fmt.Sprintf("%s, %d connections", What(t, (*url.URL).Redacted), t.Conns)
	p := Page{What: what, Started: began, Load: r.Summary(), Seconds: seconds}
	if r.Invalid() == "" {
		p.Distribution = Quantiles(r.Latency, r.OnTime)
	}
	return p
}

// Quantiles are twenty percentiles for each factor of ten in the share of slower requests, as far as
// there are enough requests and the percentile is known.
func Quantiles(h load.Histogram, known func(percentile float64) bool) (all []Quantile) {
	for i := 0; ; i++ {
		slower := math.Pow(10, -float64(i)/20)
		q := 100 * (1 - slower)
		if slower*float64(h.TotalCount()) < 1 || !known(q) {
			return all
		}
		all = append(all, Quantile{Percentile: q, NS: float64(h.ValueAtQuantile(q))})
	}
}

// SecondOf takes the figures of an interval.
func SecondOf(in load.Interval) Second {
	ns := func(us int64) float64 { return float64(us) * 1e3 }
	return Second{in.From.Seconds(), in.To.Seconds(), in.Done, in.Failed,
		ns(in.Latency.ValueAtQuantile(50)), ns(in.Latency.ValueAtQuantile(99)), ns(in.Latency.Max())}
}

// loadPoints is how many points a plot has at most. In a longer load each stands for several
// seconds.
const loadPoints = 600

// linePlot is a plot of lines. Its places are in the units of its SVG.
type linePlot struct {
	Title, XAxis, Note       string
	Width, Height            int
	Left, Right, Top, Bottom float64
	X, Y                     []report.Tick
	Curves                   []curve
}

type curve struct{ Class, Name, Path string }

var (
	//go:embed page/page.gohtml
	pageText string
	//go:embed page/plot.gohtml
	plotText string
	//go:embed page/page.css
	pageCSS string
)

// HTML writes the page. It is self-contained: no network, no scripts.
func HTML(w io.Writer, p Page) error {
	p.Started, p.Seconds = p.Started.UTC(), joined(p.Seconds)
	var plots []template.HTML
	for _, plot := range p.plots() {
		drawn, err := plot.html()
		if err != nil {
			return err
		}
		plots = append(plots, drawn)
	}
	body, err := report.Fragment(pageText, template.FuncMap{
		"known":   func(ns *float64) string { return report.Known(ns, report.Duration) },
		"of":      func(x *float64) float64 { return *x },
		"percent": func(part, whole float64) float64 { return 100 * part / whole },
	}, struct {
		Page
		Percentiles []string
		Plots       []template.HTML
	}{p, []string{"p50", "p75", "p90", "p95", "p99", "p99.9", "p99.99", "max"}, plots})
	if err != nil {
		return err
	}
	return Write(w, body)
}

// Write writes a page with another body.
func Write(w io.Writer, body template.HTML) error {
	return report.Page{Title: "load", Command: "load", Style: template.CSS(pageCSS), Body: body}.Write(w)
}

func (p *linePlot) html() (template.HTML, error) { return report.Fragment(plotText, nil, p) }

// joined joins neighbouring seconds until there are few enough, and a short last second to the one
// before. Joined seconds have the worst latencies among them.
func joined(seconds []Second) []Second {
	if n := len(seconds); n > 2 && seconds[n-1].To-seconds[n-1].From < (seconds[n-2].To-seconds[n-2].From)/2 {
		seconds = append(slices.Clone(seconds[:n-2]), seconds[n-2].join(seconds[n-1]))
	}
	for len(seconds) > loadPoints {
		var out []Second
		for pair := range slices.Chunk(seconds, 2) {
			s := pair[0]
			for _, next := range pair[1:] {
				s = s.join(next)
			}
			out = append(out, s)
		}
		seconds = out
	}
	return seconds
}

func (s Second) join(next Second) Second {
	return Second{s.From, next.To, s.Done + next.Done, s.Failed + next.Failed, max(s.P50, next.P50), max(s.P99, next.P99), max(s.Max, next.Max)}
}

func newLinePlot(title, xAxis string, height int) linePlot {
	return linePlot{Title: title, XAxis: xAxis, Width: report.PlotWidth, Height: height, Left: 64, Right: 870, Top: 12, Bottom: float64(height - report.AxisHeight)}
}

// draw adds a line through points.
func (p *linePlot) draw(class, name string, points int, at func(i int) (x, y float64)) {
	p.Curves = append(p.Curves, curve{class, name, report.Path(points, at)})
}

func (p *Page) plots() (plots []linePlot) {
	if len(p.Seconds) > 1 {
		answered := func(of func(Second) float64) func(Second) float64 {
			return func(s Second) float64 {
				if s.Done == 0 {
					return math.NaN()
				}
				return of(s)
			}
		}
		rate := func(n int64, s Second) float64 { return float64(n) / max(s.To-s.From, 1e-3) }
		if p.Load.Invalid == nil {
			plot := p.overTime("Latency over time (log scale)", 300, true, []secondFigure{
				{"c0", "max", answered(func(s Second) float64 { return s.Max })},
				{"c1", "p99", answered(func(s Second) float64 { return s.P99 })},
				{"c2", "p50", answered(func(s Second) float64 { return s.P50 })},
			})
			plot.Note = "Each point is one second's answers."
			if p.Seconds[0].To-p.Seconds[0].From > 1.5 {
				plot.Note = "Each point is the worst of several seconds."
			}
			plots = append(plots, plot)
		}
		plots = append(plots, p.overTime("Answers and failures a second", 200, false, []secondFigure{
			{"c0", "failed", func(s Second) float64 { return rate(s.Failed, s) }},
			{"c2", "answers, failures included", func(s Second) float64 { return rate(s.Done, s) }},
		}))
	}
	if len(p.Distribution) > 1 {
		plots = append(plots, distribution(Distributed{"latency", p.Distribution}))
	}
	return plots
}

// secondFigure is a figure that each second has.
type secondFigure struct {
	class, name string
	of          func(Second) float64
}

// overTime plots figures of the seconds: latencies on a log scale, other numbers from 0.
func (p *Page) overTime(title string, height int, latencies bool, figures []secondFigure) linePlot {
	plot := newLinePlot(title, "seconds since the load began", height)
	values := []float64{1}
	for _, f := range figures {
		for _, s := range p.Seconds {
			values = append(values, f.of(s))
		}
	}
	x := report.NewLinear(0, p.Seconds[len(p.Seconds)-1].To, plot.Left, plot.Right)
	y, text := report.Scale(report.NewLinear(0, 1.05*slices.Max(values), plot.Bottom, plot.Top)), report.TickText
	if latencies {
		y, text = report.NewLog(values[1:], plot.Bottom, plot.Top), report.Duration
	}
	plot.X, plot.Y = x.Ticks(report.TickText), y.Ticks(text)
	for _, f := range figures {
		plot.draw(f.class, f.name, len(p.Seconds), func(i int) (float64, float64) {
			s := p.Seconds[i]
			return x.At((s.From + s.To) / 2), y.At(f.of(s))
		})
	}
	return plot
}

// Distribution plots the latencies of several loads over each other.
func Distribution(loads ...Distributed) (template.HTML, error) {
	plot := distribution(loads...)
	return plot.html()
}

// Distributed are the latencies of a load, by rising percentile.
type Distributed struct {
	Name      string
	Quantiles []Quantile
}

// curveClasses are the styles of a plot's curves.
var curveClasses = []string{"c2", "c1", "c0"}

// distribution plots latency by percentile. The x axis is the log of the share of slower requests,
// so that the tail has as much room as the rest.
func distribution(loads ...Distributed) linePlot {
	p := newLinePlot("Distribution of latency (log scales)", "percentile", 320)
	nines := func(percentile float64) float64 { return -math.Log10(1 - percentile/100) }
	var values []float64
	most := 1.0
	for _, l := range loads {
		for _, q := range l.Quantiles {
			values = append(values, q.NS)
			if q.Percentile < 100 {
				most = max(most, nines(q.Percentile))
			}
		}
	}
	x := report.NewLinear(0, most, p.Left, p.Right)
	y := report.NewLog(values, p.Bottom, p.Top)
	for _, percentile := range []float64{0, 50, 90, 99, 99.9, 99.99, 99.999, 99.9999} {
		if nines(percentile) <= x.High {
			p.X = append(p.X, report.Tick{At: x.At(nines(percentile)), Text: fmt.Sprintf("p%g", percentile)})
		}
	}
	p.Y = y.Ticks(report.Duration)
	for i, l := range loads {
		all := slices.DeleteFunc(slices.Clone(l.Quantiles), func(q Quantile) bool { return q.Percentile >= 100 })
		p.draw(curveClasses[i], l.Name, len(all), func(i int) (float64, float64) { return x.At(nines(all[i].Percentile)), y.At(all[i].NS) })
	}
	return p
}
