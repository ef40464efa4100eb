package loadagainst

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"postage/internal/feature/show"
	"postage/internal/kit/report"
	"postage/internal/verdict"
	"postage/load"
	"postage/record"
)

// Stage is the name of such comparisons' stage in records. They have one case, whose rows are the
// two sides, and an operation is a request.
const Stage = "load"

// units are those of the figures that the sides are compared in, by name; failures for one reason
// have others. Late are requests that were not sent within their slice.
var units = map[string]string{
	"p50": "p50-ns", "p90": "p90-ns", "p99": "p99-ns", "mean": "mean-ns", "late": "late/op", "errors": "errors/op",
	"cpu": record.ServerCPU, "allocs": "server-allocs/op", "bytes": "server-B/op", "collections": "server-collections/op",
}

// names makes a figure's name of its unit.
var names = strings.NewReplacer("server-B/op", "bytes", "server-", "", "-ns", "", "/op", "", failed, "", "_", " ")

// failed begins the units of failures, and their reason follows, with _ in place of notInUnit.
const failed = "failed:"

var notInUnit = regexp.MustCompile(`[\s\pC\pZ]+`)

// NewRecord is the record of a comparison that is about to begin. Its patterns say which sides are
// compared, and what is sent.
func NewRecord(s *Sides, t *Turns, machine record.Machine, lasts time.Duration) *record.Record {
	target := s[1].target
	requests := target.All()
	what := fmt.Sprintf("%s %s by %s", cmp.Or(target.RPC, requests[0].Method), requests[0].URL.Path, target.Proto)
	if more := len(requests) - 1; more > 0 {
		what += fmt.Sprintf(" and %d more", more)
	}
	rec := &record.Record{Machine: machine, Run: record.Run{
		Version: record.Version, Started: time.Now().UTC().Truncate(time.Second),
		Patterns: []string{
			fmt.Sprintf("%s instead of %s", s[1].Name, s[0].Name),
			fmt.Sprintf("%s, %s requests a second%s", what, report.Brief(t.Rate), map[bool]string{false: ", in turns", true: ", half to each at once"}[t.AtOnce]),
		},
		Seed: rand.Uint64(), Precision: 0.01, Budget: lasts,
	}}
	for i, contender := range []string{"side=old", "side=new"} {
		name := "Load/proto=" + target.Proto
		rec.Rows = append(rec.Rows, record.Row{
			Name: name + "/" + contender, Stage: Stage, Case: name, Contender: contender, Role: record.RoleContender,
			N: 1, Value: record.ValueWall, Proof: record.ProofOK,
			Settings: map[string]string{"server": s[i].Name}, Properties: map[string]string{},
		})
	}
	rec.Rows[0].OldOf, rec.Rows[1].Role = rec.Rows[1].Name, record.RoleBaseline
	return rec
}

// counts are what was counted of one side's requests in a block.
type counts struct {
	due float64
	// latency is from when a request was due, in ns, without what the generator itself may have
	// added: that is not the servers' difference.
	latency load.Histogram
	slices  []string // the same of each slice
	// totals are how many requests were sent late, how many failed, and as far as it is known what
	// the server used, by their units.
	totals map[string]float64
}

// series is what a block has of a side. The new side's row takes the units.
func (c *counts) series(rec *record.Record, side int) record.Series {
	s := record.Series{
		Row: rec.Rows[side].Name, Position: []int{0}, WallNS: []int64{max(1, int64(c.latency.Mean()))},
		Allocs: []int64{0}, Bytes: []int64{0}, Latency: strings.Join(c.slices, " "),
		Counters: map[string][]float64{"mean-ns": {c.latency.Mean()}},
	}
	for _, p := range []float64{50, 90, 99} {
		if float64(c.latency.TotalCount())*(100-p)/100 >= leastTail {
			s.Counters[fmt.Sprintf("p%g-ns", p)] = []float64{float64(c.latency.ValueAtQuantile(p))}
		}
	}
	for unit, total := range c.totals {
		s.Counters[unit] = []float64{total / c.due}
	}
	for unit := range s.Counters {
		rec.Rows[1].Properties[record.Better+unit] = "lower"
	}
	return s
}

// Analyze compares the sides of a record. Its blocks get 0 for the failures that they do not have.
func Analyze(rec *record.Record, limits Limits) *verdict.Changes {
	for property := range rec.Rows[1].Properties {
		unit := strings.TrimPrefix(property, record.Better)
		for _, block := range rec.Blocks {
			for _, s := range block.Series {
				if s.Counters[unit] == nil && strings.HasPrefix(unit, failed) {
					s.Counters[unit] = []float64{0} // nothing failed for this reason
				}
			}
		}
	}
	c := verdict.ComparePaired(rec, verdict.Thresholds{Time: most, Metrics: limits})
	c.Warnings = slices.Concat(rec.Run.Warnings, c.Warnings)
	if !rec.Run.Complete {
		c.Warnings = append(c.Warnings, "it was interrupted: the same command with the same --out goes on")
	}
	return c
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
	if unit := units[name]; unit != "" && err == nil && share >= 0 && share < most && (percent || share == 0) {
		l[unit] = share / 100
		return nil
	}
	return fmt.Errorf("want a figure and how much higher it may be, such as p99:5%% or errors:0; figures are %s", strings.Join(slices.Sorted(maps.Keys(units)), ", "))
}

// number prints a figure.
func number(unit string, x float64) string {
	switch {
	case strings.Contains(unit, "-ns"):
		return report.Duration(x)
	case strings.HasPrefix(unit, "server-"):
		return report.Brief(x)
	}
	return fmt.Sprintf("%.3g%%", 100*x) // of requests
}

// difference prints by how much a figure is higher on the new side.
func difference(m verdict.MetricChange) string {
	signed := func(x float64) string {
		if x < 0 {
			return "−" + number(m.Unit, -x)
		}
		return "+" + number(m.Unit, x)
	}
	return report.Known(m.Difference, func(d verdict.Interval) string {
		if d.Low == d.High {
			return signed(d.Value)
		}
		return report.Interval(d, signed)
	})
}

// change prints the ratio, or where there is none the difference.
func change(m verdict.MetricChange) string {
	if m.Ratio != nil {
		return report.RatioText(*m.Ratio)
	}
	return difference(m)
}

// columns are the table's, on the page too.
var columns = []report.Column[verdict.MetricChange]{
	report.Texts("a request", func(m verdict.MetricChange) string { return names.Replace(m.Unit) }),
	report.Figures("old", func(m verdict.MetricChange) string { return number(m.Unit, m.Old) }),
	report.Figures("new", func(m verdict.MetricChange) string { return number(m.Unit, m.New) }),
	report.Texts("new/old", change),
	report.Texts("verdict", func(m verdict.MetricChange) string { return string(m.Verdict) }),
	report.Texts("gate", func(m verdict.MetricChange) string { return strings.TrimPrefix(string(m.Outcome), "not gated") }),
	report.Texts("new − old", difference).When(report.IfWide),
}

// figures are all that is known of both sides.
func figures(c *verdict.Changes) (all []verdict.MetricChange) {
	for _, row := range c.Rows {
		all = append(all, row.Metrics...)
	}
	return slices.DeleteFunc(all, func(m verdict.MetricChange) bool { return m.Difference == nil })
}

// Print writes the answer for a person, or for scripts.
func Print(w io.Writer, c *verdict.Changes, form report.Form) error {
	if form.JSON {
		return show.ChangesJSON(w, c)
	}
	d := &report.Doc{Form: form}
	d.Title(c.New.Run.Patterns[0])
	d.Paragraph("", fmt.Sprintf("%s: %s.", c.New.Run.Patterns[1], c.New.Rows[0].Settings["slices"]))
	report.Table(d, columns, figures(c), func(_ verdict.MetricChange, text string) string { return show.Colored(d, text) })
	d.Printf("\n")
	d.Marked("note:", c.Warnings...)
	d.Note(level)
	return d.Print(w)
}

// level says how sure the verdicts are.
const level = "Student's 95% intervals over the blocks. Of equal sides at most 2% are called different."

//go:embed page.gohtml
var pageText string

//go:embed page.css
var pageCSS string

// HTML writes a page with the answer and both sides' latencies. It needs no network.
func HTML(w io.Writer, c *verdict.Changes) error {
	data := map[string]any{"C": c, "Level": level, "Cells": report.Cells(columns, figures(c))}
	plot(data, c.New)
	body, err := report.Fragment(pageText, nil, data)
	if err != nil {
		return err
	}
	return report.Page{Title: "load", Command: "load", Style: template.CSS(pageCSS), Body: body}.Write(w)
}

// plot adds both sides' latencies by percentile, over each other, in the units of the page's SVG. A
// percentile is at the logarithm of the share of slower requests: the tail has as much room as the rest.
func plot(data map[string]any, rec *record.Record) {
	old, _ := record.Latencies(rec.SeriesOf(&rec.Rows[0])...)
	now, _ := record.Latencies(rec.SeriesOf(&rec.Rows[1])...)
	if old == nil || now == nil {
		return
	}
	most := float64(max(old.TotalCount(), now.TotalCount()))
	x := report.NewLog([]float64{1, most}, 64, 870)
	y := report.NewLog([]float64{float64(min(old.Min(), now.Min())), float64(max(old.Max(), now.Max()))}, 280, 12)
	curve := func(h *hdrhistogram.Histogram) string {
		points := h.CumulativeDistributionWithTicks(5)
		return report.Path(len(points), func(i int) (float64, float64) {
			one := 100 / (100 - points[i].Quantile) // of so many requests one is slower
			return x.At(min(one, float64(h.TotalCount()))), y.At(float64(points[i].ValueAt))
		})
	}
	var percentiles []report.Tick
	for one := 1.0; one <= most; one *= 10 {
		percentiles = append(percentiles, report.Tick{At: x.At(one), Text: fmt.Sprintf("p%.8g", 100-100/one)})
	}
	data["X"], data["Y"], data["Old"], data["New"] = percentiles, y.Ticks(report.Duration), curve(old), curve(now)
}
