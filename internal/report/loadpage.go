package report

import (
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"postage/internal/words"
)

// LoadPage has what a load's page shows.
type LoadPage struct {
	// What says what was sent, where and how.
	What    string
	Started time.Time
	Load    Load
	Seconds []LoadSecond
	// Distribution has latencies by rising percentile, none if they are not valid.
	Distribution []LoadQuantile
}

// LoadSecond has the answers that came in one second of a load, or in several.
type LoadSecond struct {
	From, To      float64 // s since the load began
	Done, Failed  int64
	P50, P99, Max float64 // ns; 0 if no answer came
}

// LoadQuantile says that Percentile percent of the requests had a latency of at most NS.
type LoadQuantile struct{ Percentile, NS float64 }

// The layout of a load's plots, in the units of their SVG.
const (
	loadLeft, loadRight = 64, 870
	loadTop             = 12
	// loadPoints is the most points that a plot has: in a longer load each stands for several
	// seconds.
	loadPoints = 600
)

// curve is a line of a plot.
type curve struct{ Class, Name, Path string }

// loadPlot is a plot of a load.
type loadPlot struct {
	Title, XAxis, Note       string
	Width, Height            int
	Left, Right, Top, Bottom float64
	X, Y                     []tick
	Curves                   []curve
}

// LoadHTML writes the page. It is self-contained: no network, no scripts.
func LoadHTML(w io.Writer, p LoadPage) error {
	t, err := template.New("load.gohtml").ParseFS(pageFiles, "page/load.gohtml")
	if err != nil {
		return err
	}
	style, err := joined("page/page.css", "page/load.css")
	if err != nil {
		return err
	}
	v := struct {
		Style                         template.CSS
		What, Started, Summary, Cause string
		Facts, Errors, Percentiles    [][2]string
		Plots                         []loadPlot
		Header                        []string
		Targets                       [][]string
		Rows                          [][]string
	}{Style: template.CSS(style), What: p.What, Started: p.Started.UTC().Format("2006-01-02 15:04 UTC")}
	l := &p.Load
	v.Summary = loadSummary(l)
	if l.Invalid != nil {
		v.Cause = *l.Invalid
	}
	v.Facts = loadFacts(l)
	for _, t := range l.Targets {
		p50, p99 := "n/a", "n/a"
		if t.LatencyNS["p50"] != nil && t.LatencyNS["p99"] != nil {
			p50, p99 = duration(*t.LatencyNS["p50"]), duration(*t.LatencyNS["p99"])
		}
		v.Targets = append(v.Targets, []string{t.Name, words.Integer(t.Requests), words.Integer(t.Failed), fmt.Sprintf("%.1f", t.Rate), p50, p99})
	}
	for _, why := range slices.Sorted(maps.Keys(l.Errors)) {
		v.Errors = append(v.Errors, [2]string{why, words.Integer(l.Errors[why])})
	}
	for _, name := range []string{"p50", "p75", "p90", "p99", "p99.9", "p99.99", "max"} {
		text := "n/a"
		if ns := l.LatencyNS[name]; ns != nil {
			text = duration(*ns)
		}
		v.Percentiles = append(v.Percentiles, [2]string{name, text})
	}
	seconds := together(p.Seconds)
	if len(seconds) > 1 {
		if v.Cause == "" {
			v.Plots = append(v.Plots, latencyOverTime(seconds))
		}
		v.Plots = append(v.Plots, rateOverTime(seconds))
	}
	if len(p.Distribution) > 1 {
		v.Plots = append(v.Plots, distribution(p.Distribution))
	}
	v.Header, v.Rows = secondBySecond(seconds, v.Cause == "")
	return t.Execute(w, v)
}

// secondBySecond is a table of a load's seconds, with latencies if they are valid.
func secondBySecond(seconds []LoadSecond, valid bool) (header []string, rows [][]string) {
	header = []string{"from, s", "to, s", "answers", "failed"}
	if valid {
		header = append(header, "p50", "p99", "max")
	}
	for _, s := range seconds {
		row := []string{fmt.Sprintf("%.1f", s.From), fmt.Sprintf("%.1f", s.To), words.Integer(s.Done), words.Integer(s.Failed)}
		for _, ns := range []float64{s.P50, s.P99, s.Max}[:len(header)-4] {
			text := "n/a"
			if s.Done > 0 {
				text = duration(ns)
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	return header, rows
}

func loadSummary(l *Load) string {
	text := fmt.Sprintf("%s requests in %.1f s, %s failed", words.Integer(l.Requests), l.Seconds, words.Integer(l.Failed))
	if p99 := l.LatencyNS["p99"]; p99 != nil {
		text += fmt.Sprintf("; 99%% were answered within %s", duration(*p99))
		if l.Corrected {
			text += " of when they were due"
		}
	}
	return text + "."
}

func loadFacts(l *Load) [][2]string {
	rate := fmt.Sprintf("%.1f/s, as many as possible (closed loop)", l.Achieved)
	if l.Rate != nil {
		rate = fmt.Sprintf("%.1f/s of %.1f/s asked for (%.1f%%)", l.Achieved, *l.Rate, 100*l.Achieved / *l.Rate)
	}
	facts := [][2]string{{"rate", rate}}
	add := func(name, text string) { facts = append(facts, [2]string{name, text}) }
	var statuses []string
	for _, status := range slices.Sorted(maps.Keys(l.Statuses)) {
		statuses = append(statuses, status+": "+words.Integer(l.Statuses[status]))
	}
	if len(statuses) > 0 {
		add("status", strings.Join(statuses, ", "))
	}
	if l.Busy != nil {
		add("generator", fmt.Sprintf("%.0f%% of its processors", 100**l.Busy))
	}
	if l.LateP99NS != nil {
		add("sent late", "99% at most "+duration(*l.LateP99NS))
	}
	if l.Shortfall != nil {
		add("shortfall", *l.Shortfall)
	}
	if l.Interrupted {
		add("interrupted", fmt.Sprintf("%s requests had no answer yet", words.Integer(l.Unanswered)))
	}
	return facts
}

// together joins neighbouring seconds until there are few enough. Joined seconds have the worst
// latencies among them. A short last second is joined to the one before.
func together(seconds []LoadSecond) []LoadSecond {
	if n := len(seconds); n > 2 && seconds[n-1].To-seconds[n-1].From < (seconds[n-2].To-seconds[n-2].From)/2 {
		seconds = append(slices.Clone(seconds[:n-2]), seconds[n-2].and(seconds[n-1]))
	}
	for len(seconds) > loadPoints {
		var out []LoadSecond
		for pair := range slices.Chunk(seconds, 2) {
			s := pair[0]
			for _, next := range pair[1:] {
				s = s.and(next)
			}
			out = append(out, s)
		}
		seconds = out
	}
	return seconds
}

func (s LoadSecond) and(next LoadSecond) LoadSecond {
	return LoadSecond{s.From, next.To, s.Done + next.Done, s.Failed + next.Failed, max(s.P50, next.P50), max(s.P99, next.P99), max(s.Max, next.Max)}
}

func newLoadPlot(title string, height int) loadPlot {
	return loadPlot{Title: title, Width: plotWidth, Height: height, Left: loadLeft, Right: loadRight, Top: loadTop, Bottom: float64(height - axisHeight)}
}

// line is a path through points, broken where ok is false.
func line(n int, at func(i int) (x, y float64, ok bool)) string {
	var path strings.Builder
	pen := "M"
	for i := range n {
		x, y, ok := at(i)
		if !ok {
			pen = "M"
			continue
		}
		fmt.Fprintf(&path, "%s%g %g", pen, tenth(x), tenth(y))
		if pen == "M" {
			path.WriteString("h0") // so that a single point shows too
		}
		pen = "L"
	}
	return path.String()
}

// timeAxis puts seconds on a plot's x axis, and returns where the i-th one is.
func (p *loadPlot) timeAxis(seconds []LoadSecond) func(i int) float64 {
	end := seconds[len(seconds)-1].To
	place := func(s float64) float64 { return p.Left + s/end*(p.Right-p.Left) }
	for _, s := range niceTicks(0, end) {
		p.X = append(p.X, tick{tenth(place(s)), tickText(s)})
	}
	p.XAxis = "seconds since the load began"
	return func(i int) float64 { return place((seconds[i].From + seconds[i].To) / 2) }
}

func latencyOverTime(seconds []LoadSecond) loadPlot {
	p := newLoadPlot("Latency over time (log scale)", 300)
	p.Note = "Each point is one second's answers."
	if len(seconds) > 0 && seconds[0].To-seconds[0].From > 1.5 {
		p.Note = "Each point is the worst of several seconds."
	}
	x := p.timeAxis(seconds)
	var values []float64
	for _, s := range seconds {
		values = append(values, s.P50, s.P99, s.Max)
	}
	y := newAxis(values, p.Bottom, p.Top)
	p.Y = y.ticks(duration)
	for i, c := range []struct {
		name string
		of   func(LoadSecond) float64
	}{
		{"max", func(s LoadSecond) float64 { return s.Max }},
		{"p99", func(s LoadSecond) float64 { return s.P99 }},
		{"p50", func(s LoadSecond) float64 { return s.P50 }},
	} {
		p.Curves = append(p.Curves, curve{fmt.Sprintf("c%d", i), c.name, line(len(seconds), func(i int) (float64, float64, bool) {
			return x(i), y.at(c.of(seconds[i])), seconds[i].Done > 0
		})})
	}
	return p
}

func rateOverTime(seconds []LoadSecond) loadPlot {
	p := newLoadPlot("Answers and failures a second", 200)
	x := p.timeAxis(seconds)
	rate := func(n int64, s LoadSecond) float64 { return float64(n) / max(s.To-s.From, 1e-3) }
	highest := 1.0
	for _, s := range seconds {
		highest = max(highest, rate(s.Done, s))
	}
	highest *= 1.05
	y := func(v float64) float64 { return p.Bottom - v/highest*(p.Bottom-p.Top) }
	for _, v := range niceTicks(0, highest) {
		p.Y = append(p.Y, tick{tenth(y(v)), tickText(v)})
	}
	for i, c := range []struct {
		name string
		of   func(LoadSecond) int64
	}{
		{"failed", func(s LoadSecond) int64 { return s.Failed }},
		{"answers, failures included", func(s LoadSecond) int64 { return s.Done }},
	} {
		p.Curves = append(p.Curves, curve{fmt.Sprintf("c%d", 2*i), c.name, line(len(seconds), func(i int) (float64, float64, bool) {
			return x(i), y(rate(c.of(seconds[i]), seconds[i])), true
		})})
	}
	return p
}

// distribution plots latency by percentile. The x axis is the log of the share of slower requests,
// so that the tail has as much room as the rest.
func distribution(all []LoadQuantile) loadPlot {
	p := newLoadPlot("Distribution of latency (log scales)", 320)
	p.XAxis = "percentile"
	nines := func(percentile float64) float64 { return -math.Log10(1 - percentile/100) }
	most := 1.0
	var values []float64
	for _, q := range all {
		values = append(values, q.NS)
		if q.Percentile < 100 {
			most = max(most, nines(q.Percentile))
		}
	}
	x := func(percentile float64) float64 { return p.Left + nines(percentile)/most*(p.Right-p.Left) }
	for _, percentile := range []float64{0, 50, 90, 99, 99.9, 99.99, 99.999, 99.9999} {
		if nines(percentile) <= most {
			p.X = append(p.X, tick{tenth(x(percentile)), fmt.Sprintf("p%g", percentile)})
		}
	}
	y := newAxis(values, p.Bottom, p.Top)
	p.Y = y.ticks(duration)
	p.Curves = []curve{{"c2", "latency", line(len(all), func(i int) (float64, float64, bool) {
		return x(all[i].Percentile), y.at(all[i].NS), all[i].Percentile < 100
	})}}
	return p
}
