package report

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"postage/claims"
	"postage/lab"
	"postage/lab/stats"
	"postage/record"
)

//go:embed page
var pageFiles embed.FS

// NamedRun is a record and what it is called.
type NamedRun struct {
	Name   string
	Record *record.Record
}

// HTML writes runs as one page that needs nothing else: no network, and no scripts but
// for sorting and filtering. The plots are SVG made here.
func HTML(w io.Writer, runs []NamedRun) error {
	t, err := template.New("page.gohtml").ParseFS(pageFiles, "page/page.gohtml")
	if err != nil {
		return err
	}
	style, err := pageFiles.ReadFile("page/page.css")
	if err != nil {
		return err
	}
	script, err := pageFiles.ReadFile("page/page.js")
	if err != nil {
		return err
	}
	p := newPage(runs)
	p.Style, p.Script = template.CSS(style), template.JS(script)
	return t.Execute(w, p)
}

// page is what the template shows.
type page struct {
	Style     template.CSS
	Script    template.JS
	Headlines []headlineView
	More      []headlineView
	Parts     []string // key=value parts, to filter by
	Maps      []heatMap
	Cases     []caseView
	Failures  []noteView
	Controls  []noteView
	Warnings  []noteView
	Claims    []claimView
	Runs      []runView
}

type claimView struct {
	Number                                    int
	Text, Page, Published, Here, Verdict, Why string
}

type headlineView struct{ ID, Case, Text string }

type noteView struct{ What, Text string }

type runView struct {
	Name, Machine, Self, Started, Kernel, Commit string
	Partial                                      bool
}

type caseView struct {
	ID, Name, Note string
	Parts          []string
	Missing        string
	Forest         *forest
	Scatter        *scatter
	Latency        *latency
	Columns        []columnView
	Rows           []rowView
	Failed         []noteView
}

type columnView struct {
	Title string
	Left  bool
}

type rowView struct {
	Name, Verdict string
	Cells         []cellView
}

type cellView struct {
	Text string
	Sort string // what to sort by, if not the text
	Left bool
}

// headlinesShown is how many cases the page begins with; the others are folded.
const headlinesShown = 8

func newPage(runs []NamedRun) *page {
	p := &page{}
	ids := map[string]int{}
	parts := map[string]bool{}
	var all []lab.CaseResult
	for _, run := range runs {
		rec := run.Record
		a := lab.Analyze(rec)
		for i := range a.Cases {
			c := &a.Cases[i]
			id := slug(c.Name)
			if ids[id]++; ids[id] > 1 {
				id = fmt.Sprintf("%s-%d", id, ids[id])
			}
			view := newCase(rec, c, id)
			if len(runs) > 1 {
				view.Note = run.Name + ": " + view.Note
			}
			p.Cases = append(p.Cases, view)
			p.Failures = append(p.Failures, prefixed(c.Name, view.Failed)...)
			p.Controls = append(p.Controls, noteView{c.Name, controlText(c)})
			if text := sentence(c); text != "" {
				p.Headlines = append(p.Headlines, headlineView{id, strings.ReplaceAll(c.Name, "/", " "), text})
			}
			for _, r := range c.Rows {
				for part := range strings.SplitSeq(r.Row.Name, "/") {
					parts[part] = true
				}
			}
		}
		for _, warning := range a.Warnings {
			p.Warnings = append(p.Warnings, noteView{run.Name, warning})
		}
		all = append(all, a.Cases...)
		view := runView{Name: run.Name, Machine: machineText(rec), Self: selfText(rec), Kernel: rec.Machine.Kernel, Commit: rec.Run.Commit, Partial: !rec.Run.Complete}
		if !rec.Run.Started.IsZero() {
			view.Started = rec.Run.Started.UTC().Format(time.DateTime) + " UTC"
		}
		p.Runs = append(p.Runs, view)
	}
	if len(p.Headlines) > headlinesShown {
		p.Headlines, p.More = p.Headlines[:headlinesShown], p.Headlines[headlinesShown:]
	}
	p.Maps = heatMaps(all)
	p.Claims = claimViews(runs)
	p.Parts = slices.Sorted(maps.Keys(parts))
	return p
}

// claimViews are the published claims, none if the runs say nothing of any.
func claimViews(runs []NamedRun) []claimView {
	var records []*record.Record
	for _, run := range runs {
		records = append(records, run.Record)
	}
	var views []claimView
	measured := false
	for _, f := range claims.Check(claims.All(), records) {
		view := claimView{Number: f.Number, Text: f.Text, Page: f.Page, Verdict: string(f.Verdict), Why: f.Why}
		var published, here []string
		for _, r := range f.Results {
			measured = measured || r.Here != nil
			published = append(published, r.What+": "+publishedText(&r.Measure))
			here = append(here, hereText(&r))
		}
		view.Published, view.Here = strings.Join(published, "; "), strings.Join(here, "; ")
		views = append(views, view)
	}
	if !measured {
		return nil
	}
	return views
}

func prefixed(name string, notes []noteView) []noteView {
	var out []noteView
	for _, n := range notes {
		out = append(out, noteView{name + "/" + n.What, n.Text})
	}
	return out
}

// slug makes a name fit for a link.
func slug(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
}

func newCase(rec *record.Record, c *lab.CaseResult, id string) caseView {
	view := caseView{ID: id, Name: c.Name, Parts: strings.Split(c.Name, "/"), Missing: unmeasured(c)}
	baseline := "none"
	if c.Baseline != nil {
		baseline = c.Baseline.Row.Contender
	}
	view.Note = fmt.Sprintf("%s, compared with %s; %s", counted(c.Blocks, "block"), baseline, controlText(c))
	if view.Missing != "" {
		return view
	}
	with, without := split(c)
	for _, r := range without {
		view.Failed = append(view.Failed, noteView{r.Row.Contender, reason(r)})
	}
	if len(with) == 0 {
		return view
	}
	view.Forest = newForest(rec, c, with)
	view.Scatter = newScatter(with)
	view.Latency = newLatency(with)
	columns := columnsOf(c)
	columns[0].title = "contender"
	for _, column := range columns {
		view.Columns = append(view.Columns, columnView{column.title, column.left})
	}
	for _, r := range with {
		row := rowView{Name: r.Row.Name, Verdict: verdictClass(r)}
		for _, column := range columns {
			text := column.text(r)
			cell := cellView{Text: text, Left: column.left}
			switch {
			case column.title == "ns/op":
				cell.Sort = fmt.Sprintf("%.6g", r.NSOp.Value)
			case strings.HasPrefix(column.title, "ratio") && r.Ratio == nil:
				cell.Sort = "1"
			case strings.HasPrefix(column.title, "ratio"):
				cell.Sort = fmt.Sprintf("%.6g", r.Ratio.Ratio)
			}
			row.Cells = append(row.Cells, cell)
		}
		view.Rows = append(view.Rows, row)
	}
	return view
}

// verdictClass is a row's verdict, or the role that comes in its place.
func verdictClass(r *lab.Result) string {
	switch lab.Role(r.Row.Role) {
	case lab.RoleFloor, lab.RoleBaseline:
		return r.Row.Role
	}
	return string(r.Verdict)
}

// hint is all that is known of a row, for those who point at it.
func hint(r *lab.Result) string {
	lines := []string{r.Row.Contender, grouped(r.NSOp.Value) + " ns/op " + plusMinus(r.NSOp)}
	if r.Ratio != nil {
		lines = append(lines, "ratio "+ratioText(r.Ratio))
	}
	if r.Row.Module != "" {
		lines = append(lines, r.Row.Module)
	}
	for _, key := range slices.Sorted(maps.Keys(r.Row.Settings)) {
		lines = append(lines, key+": "+r.Row.Settings[key])
	}
	return strings.Join(lines, "\n")
}

// sentence says who won a case, in words that stand alone.
func sentence(c *lab.CaseResult) string {
	if c.Baseline == nil || c.Baseline.NSOp == nil {
		return ""
	}
	base := short(c.Baseline.Row.Contender)
	var faster []*lab.Result
	enough := false
	for _, r := range c.Rows {
		if r.Ratio == nil || lab.Role(r.Row.Role) != lab.RoleContender {
			continue
		}
		enough = enough || !math.IsInf(r.Ratio.HalfWidth, 0)
		if r.Verdict == stats.Faster {
			faster = append(faster, r)
		}
	}
	slices.SortStableFunc(faster, func(a, b *lab.Result) int {
		if a.Ratio.Ratio < b.Ratio.Ratio {
			return -1
		}
		return 1
	})
	switch {
	case !enough:
		return "too few blocks for a verdict."
	case len(faster) == 0:
		return fmt.Sprintf("no contender was found faster than %s, which takes %s.", base, duration(c.Baseline.NSOp.Value))
	}
	best := faster[0]
	text := fmt.Sprintf("%s is %s faster than %s (%s to %s), %s against %s", short(best.Row.Contender), times(1/best.Ratio.Ratio), base,
		multiple(1/best.Ratio.High), times(1/best.Ratio.Low), duration(best.NSOp.Value), duration(c.Baseline.NSOp.Value))
	if len(faster) > 1 {
		text += fmt.Sprintf("; next is %s, %s", short(faster[1].Row.Contender), times(1/faster[1].Ratio.Ratio))
	}
	if best.FloorRatio != nil {
		text += fmt.Sprintf("; the floor is %s below it", times(*best.FloorRatio))
	}
	return text + "."
}

// short is a contender without the key of its first part.
func short(contender string) string {
	_, name, found := strings.Cut(contender, "=")
	if !found {
		return contender
	}
	return name
}

func times(x float64) string { return multiple(x) + "×" }

// multiple prints a factor to read, not to compute with.
func multiple(x float64) string {
	switch {
	case x >= 99.5:
		return integer(int64(math.Round(x)))
	case x >= 9.95:
		return fmt.Sprintf("%.0f", x)
	case x >= 1.995:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

// duration prints nanoseconds in the unit that suits them.
func duration(ns float64) string {
	for _, unit := range []struct {
		name string
		ns   float64
	}{{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}} {
		if ns >= unit.ns {
			return fmt.Sprintf("%.3g %s", ns/unit.ns, unit.name)
		}
	}
	return fmt.Sprintf("%.3g ns", ns)
}
