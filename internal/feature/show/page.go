package show

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"

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

// HTML writes a page of some runs that needs no network and no other file. Its scripts only show,
// hide and sort. The plots are SVG made here. Stages say what their cases' figures mean.
func HTML(w io.Writer, runs []NamedRun, stages []verdict.Stage) error {
	body, err := report.Fragment(pageText, template.FuncMap{
		"machine": MachineText, "world": worldText, "self": selfText, "busy": busyText,
		"sight": func(r analyzed) string { return sight(r.Analysis, r.Record) },
	}, newPage(runs, stages))
	if err != nil {
		return err
	}
	page := report.Page{
		Title:   "what a message costs",
		Command: "show",
		Style:   template.CSS(showCSS),
		Script:  template.JS(pageScript),
		Body:    body,
	}
	return page.Write(w)
}

// analyzed is a run with its analysis.
type analyzed struct {
	NamedRun
	*verdict.Analysis
}

// page is what the template shows.
type page struct {
	Sentences []string // what the stages say
	Answers   []answerView
	Remarks   []string
	Cases     []caseView
	Warnings  []noteView
	Runs      []analyzed
}

type noteView struct{ What, Text string }

type caseView struct {
	ID, Name, Note string
	Missing        string
	Forest         *forest
	Columns        []string
	Rows           []rowView
	Failed         []noteView
}

type rowView struct {
	Verdict string
	Cells   []string
}

// caseOfRun is a case with what its stage says about it.
type caseOfRun struct {
	*verdict.CaseResult
	id  string
	run string // the run's name, "" if there is one run
	// says is what the case's stage says of its figures.
	says verdict.Figures
}

func casesOf(a *verdict.Analysis, stages []verdict.Stage) (cases []*caseOfRun) {
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

func newPage(runs []NamedRun, stages []verdict.Stage) *page {
	p := &page{}
	var all []*caseOfRun
	for _, run := range runs {
		a := verdict.Analyze(run.Record)
		for _, one := range casesOf(a, stages) {
			one.id = fmt.Sprintf("case%d", len(all)+1)
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
	return p
}

func newCase(one *caseOfRun) caseView {
	c := one.CaseResult
	view := caseView{ID: one.id, Name: c.Name, Missing: c.Unmeasured()}
	view.Note = comparedText(c) + "; " + controlText(c)
	if view.Missing != "" {
		return view
	}
	measured, missing := split(c)
	for _, r := range missing {
		view.Failed = append(view.Failed, noteView{r.Row.Contender, r.Reason()})
	}
	if len(measured) == 0 {
		return view
	}
	view.Forest = newForest(c, measured)
	columns := append(columnsOf(c, true), report.Texts("module", func(r *verdict.Result) string { return r.Row.Module }))
	cells := report.Cells(columns, measured)
	view.Columns = cells[0]
	for i, r := range measured {
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
