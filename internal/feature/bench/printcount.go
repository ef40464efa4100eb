package bench

import (
	"fmt"
	"io"
	"strings"

	"postage/internal/kit/report"
	"postage/internal/kit/words"
	"postage/internal/verdict"
)

func countColumns(shown []*Counted) []report.Column[*Counted] {
	name := report.Texts("benchmark", func(c *Counted) string { return benchmarkName(c.Case) })
	spread := report.Figures("spread", func(c *Counted) string { return fmt.Sprintf("±%.2g%%", 100*c.New.Spread()) })
	if len(shown) == 0 || shown[0].Old == nil {
		return []report.Column[*Counted]{name,
			report.Figures("instr/op", func(c *Counted) string { return report.Grouped(c.New.Instructions) }), spread,
			report.Figures("B/op", func(c *Counted) string { return report.Grouped(c.New.Bytes) }),
			report.Figures("allocs/op", func(c *Counted) string { return report.Grouped(c.New.Allocs) }),
		}
	}
	return []report.Column[*Counted]{name,
		report.Figures("old instr/op", func(c *Counted) string { return report.Grouped(c.Old.Instructions) }),
		report.Figures("new instr/op", func(c *Counted) string { return report.Grouped(c.New.Instructions) }),
		report.Figures("change", func(c *Counted) string {
			return strings.Replace(fmt.Sprintf("%+.2f%%", 100*(c.Ratio()-1)), "-0.00%", "+0.00%", 1)
		}),
		spread.When(report.IfRoom),
		report.Figures("may be", func(c *Counted) string { return fmt.Sprintf("+%.2g%%", 100*c.Tolerance) }),
		report.Texts("outcome", func(c *Counted) string { return string(c.Outcome) }),
		report.Figures("allocs/op", func(c *Counted) string { return report.FromTo(c.Old.Allocs, c.New.Allocs) }).When(report.IfRoom),
		report.Figures("B/op", func(c *Counted) string { return report.FromTo(c.Old.Bytes, c.New.Bytes) }).When(report.IfWide),
	}
}

var countedFunctions = []report.Column[CountedFunction]{
	report.Texts("function", func(f CountedFunction) string { return f.Function }),
	report.Figures("old instr/op", func(f CountedFunction) string { return report.Grouped(f.Old) }),
	report.Figures("new instr/op", func(f CountedFunction) string { return report.Grouped(f.New) }),
}

// published is a run with empty lists in place of none, as its JSON has them.
func published(run *CountedRun) *CountedRun {
	out := *run
	out.Notes = report.List(run.Notes)
	out.Rows = []Counted{}
	for _, c := range run.Rows {
		c.Functions, c.Warnings = report.List(c.Functions), report.List(c.Warnings)
		out.Rows = append(out.Rows, c)
	}
	return &out
}

// PrintCounts writes counted benchmarks, and the functions in which they changed.
func PrintCounts(w io.Writer, run *CountedRun, form report.Form) error {
	if form.JSON {
		return report.WriteJSON(w, published(run))
	}
	d := &report.Doc{Form: form}
	if form.Markdown {
		d.Printf("%s\n", Marker)
		d.Title("Instructions: " + string(run.Outcome))
	}
	var shown, moved []*Counted
	var failed, warnings, whys []string
	same := 0
	for i := range run.Rows {
		c := &run.Rows[i]
		for _, text := range c.Warnings {
			warnings = append(warnings, benchmarkName(c.Case)+": "+text)
		}
		switch {
		case c.Failed != "":
			failed = append(failed, benchmarkName(c.Case)+": "+c.Failed)
		case c.Old != nil && c.Outcome == verdict.Passed && !c.Moved() && len(run.Rows) > fewBenchmarks:
			same++
		default:
			shown = append(shown, c)
		}
		if c.Moved() {
			moved = append(moved, c)
		}
		if c.Why != "" {
			whys = append(whys, benchmarkName(c.Case)+": "+c.Why)
		}
	}
	report.Table(d, countColumns(shown), shown, func(_ *Counted, text string) string {
		if text == string(verdict.Regressed) {
			return d.Paint(report.Red, text)
		}
		return text
	})
	for _, c := range moved {
		d.Folded(benchmarkName(c.Case)+": in which functions", func() { report.Table(d, countedFunctions, c.Functions, nil) })
	}
	d.Printf("\n")
	if same > 0 {
		d.Paragraph("- ", words.Counted(same, "benchmark")+" executed as many instructions as before")
	}
	d.Marked("not passed:", whys...)
	if run.Late > 0 {
		failed = append(failed, words.Counted(run.Late, "benchmark")+": the time was up before")
	}
	d.Marked("not counted:", append(failed, run.Notes...)...)
	d.Marked("warning:", append(warnings, run.Warnings...)...)
	d.Note(notTime)
	return d.Print(w)
}
