package show

import (
	_ "embed"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"

	"postage/internal/cost"
	"postage/internal/kit/report"
	"postage/internal/verdict"
	"postage/record"
)

// The page's own template, style and script. Sections bring theirs.
var (
	//go:embed page/page.gohtml
	pageText string
	//go:embed page/page.css
	showCSS string
	//go:embed page/page.js
	pageScript string
)

// NamedRun is a record with a name.
type NamedRun struct {
	Name   string
	Record *record.Record
}

// Contents is what a page shows.
type Contents struct {
	Runs []NamedRun
	// Stages say what their cases' figures mean. Cases of other stages are shown without that.
	Stages []cost.Stage
	// Sections are other features' parts of the page, behind the cases.
	Sections []report.Section
}

// HTML writes a page that needs no network and no other file. Its scripts only show, hide and sort.
// The plots are SVG made here.
func HTML(w io.Writer, c Contents) error {
	body, err := report.Fragment(pageText, template.FuncMap{
		"machine": MachineText, "world": worldText, "self": selfText, "busy": busyText,
		"sight": func(r analyzed) string { return sight(r.Analysis, r.Record) },
	}, newPage(c))
	if err != nil {
		return err
	}
	style := template.CSS(showCSS)
	for _, s := range c.Sections {
		style += s.Style
	}
	return report.Page{Title: "what a message costs", Command: "show", Style: style, Script: template.JS(pageScript), Body: body}.Write(w)
}

// analyzed is a run with its analysis.
type analyzed struct {
	NamedRun
	*verdict.Analysis
}

// page is what the template shows.
type page struct {
	Sentences []string // what the stages say
	Millions  []string // what a million messages cost
	Answers   []answerView
	More      []answerView
	Remarks   []string
	Cases     []caseView
	Warnings  []noteView
	Sections  []report.Section
	Runs      []analyzed
}

type noteView struct{ What, Text string }

type caseView struct {
	ID, Name, Note string
	Missing        string
	Settings       string // that all rows share
	Forest         *forest
	Columns        []string
	Rows           []rowView
	Failed         []noteView
}

type rowView struct {
	Verdict string
	Cells   []string
}

// answersShown is how many answers the page begins with; the others are folded.
const answersShown = 8

// caseOfRun is a case with what its stage says about it.
type caseOfRun struct {
	*verdict.CaseResult
	id  string
	run string // the run's name, "" if there is one run
	// says is what the case's stage says of its figures.
	says cost.Figures
}

func casesOf(a *verdict.Analysis, stages []cost.Stage) (cases []*caseOfRun) {
	for _, c := range a.Cases {
		one := &caseOfRun{CaseResult: c}
		for _, stage := range stages {
			if stage.Name == c.Stage() {
				one.says = stage.Figures
			}
		}
		cases = append(cases, one)
	}
	return cases
}

func newPage(contents Contents) *page {
	runs := contents.Runs
	p := &page{}
	ids := report.IDs{}
	var all []*caseOfRun
	var measured []*verdict.CaseResult
	for _, run := range runs {
		a := verdict.Analyze(run.Record)
		measured = append(measured, a.Cases...)
		for _, one := range casesOf(a, contents.Stages) {
			one.id = ids.New(one.Name)
			view := newCase(one)
			if len(runs) > 1 {
				one.run = run.Name
				view.Note = run.Name + ": " + view.Note
			}
			all = append(all, one)
			p.Cases = append(p.Cases, view)
		}
		for _, warning := range a.Warnings {
			p.Warnings = append(p.Warnings, noteView{run.Name, warning})
		}
		p.Runs = append(p.Runs, analyzed{run, a})
	}
	p.Sentences = sentences(all)
	p.Answers, p.Remarks = answers(all)
	if len(p.Answers) > answersShown {
		p.Answers, p.More = p.Answers[:answersShown], p.Answers[answersShown:]
	}
	p.Millions = millions(contents.Stages, measured, true)
	p.Sections = contents.Sections
	return p
}

func newCase(one *caseOfRun) caseView {
	c := one.CaseResult
	view := caseView{ID: one.id, Name: c.Name, Missing: c.Unmeasured()}
	view.Note = comparedText(c) + "; " + controlText(c)
	if view.Missing != "" {
		return view
	}
	with, without := split(c)
	for _, r := range without {
		view.Failed = append(view.Failed, noteView{r.Row.Contender, r.Reason()})
	}
	if len(with) == 0 {
		return view
	}
	common := commonSettings(with)
	var settings []string
	named := record.KeysOf(c.Name)
	for _, key := range slices.Sorted(maps.Keys(common)) {
		if common[key] != named.Get(key) && common[key] != "" {
			settings = append(settings, key+": "+common[key])
		}
	}
	view.Settings = strings.Join(settings, ", ")
	view.Forest = newForest(c, with, common)
	columns := columnsOf(c, true)
	cells := report.Cells(columns, with)
	view.Columns = cells[0]
	for i, r := range with {
		view.Rows = append(view.Rows, rowView{verdictClass(r), cells[1+i]})
	}
	return view
}

// verdictClass is a row's verdict, or the role of a floor or a baseline.
func verdictClass(r *verdict.Result) string {
	switch r.Row.Role {
	case record.RoleFloor, record.RoleBaseline:
		return string(r.Row.Role)
	}
	return string(r.Verdict)
}

// moduleKey is the key of a row's module among its settings.
const moduleKey = "module"

// commonSettings are the settings, and the module, that all rows of a case share except its floors.
// The page shows them once.
func commonSettings(results []*verdict.Result) map[string]string {
	var common map[string]string
	for _, r := range results {
		switch {
		case r.Row.Role == record.RoleFloor:
		case common == nil:
			common = map[string]string{moduleKey: r.Row.Module}
			maps.Copy(common, r.Row.Settings)
		default:
			maps.DeleteFunc(common, func(key, value string) bool {
				if key == moduleKey {
					return r.Row.Module != value
				}
				return r.Row.Settings[key] != value
			})
		}
	}
	return common
}

// hint is what a row shows under the pointer: the module and settings that neither its name nor its
// case has. The page's script adds the figures of its table.
func hint(r *verdict.Result, common map[string]string) string {
	var lines []string
	if name := r.Row.Contender; report.Clipped(name, labelLength) != name {
		lines = append(lines, name)
	}
	if r.Row.Module != "" && r.Row.Module != common[moduleKey] {
		lines = append(lines, r.Row.Module)
	}
	named := record.KeysOf(r.Row.Name)
	for _, key := range slices.Sorted(maps.Keys(r.Row.Settings)) {
		value := r.Row.Settings[key]
		if named.Get(key) != value && (common[key] != value || r.Row.Role == record.RoleFloor) {
			lines = append(lines, key+": "+value)
		}
	}
	return strings.Join(lines, "\n")
}
