package report

import (
	"fmt"
	"io"

	"postage/internal/verdict"
	"postage/internal/words"
)

// counted is a benchmark's line.
type counted = *verdict.Counted

func countColumns(shown []counted) []column[counted] {
	name := texts("benchmark", func(c counted) string { return benchmarkName(c.Case) })
	spread := figures("spread", func(c counted) string { return fmt.Sprintf("±%.2g%%", 100*c.New.Spread()) })
	if len(shown) == 0 || shown[0].Old == nil {
		return []column[counted]{name,
			figures("instr/op", func(c counted) string { return grouped(c.New.Instructions) }), spread,
			figures("B/op", func(c counted) string { return grouped(c.New.Bytes) }),
			figures("allocs/op", func(c counted) string { return grouped(c.New.Allocs) }),
		}
	}
	return []column[counted]{name,
		figures("old instr/op", func(c counted) string { return grouped(c.Old.Instructions) }),
		figures("new instr/op", func(c counted) string { return grouped(c.New.Instructions) }),
		figures("new/old", func(c counted) string { return fmt.Sprintf("%+.2f%%", 100*(c.Ratio()-1)) }),
		spread.when(ifRoom),
		figures("may be", func(c counted) string { return fmt.Sprintf("+%.2g%%", 100*c.Tolerance) }),
		texts("outcome", func(c counted) string { return string(c.Outcome) }),
		figures("allocs/op", func(c counted) string { return fromTo(c.Old.Allocs, c.New.Allocs) }).when(ifRoom),
		figures("B/op", func(c counted) string { return fromTo(c.Old.Bytes, c.New.Bytes) }).when(ifWide),
	}
}

var countedFunctions = []column[verdict.CountedFunction]{
	texts("function", func(f verdict.CountedFunction) string { return f.Function }),
	figures("old instr/op", func(f verdict.CountedFunction) string { return grouped(f.Old) }),
	figures("new instr/op", func(f verdict.CountedFunction) string { return grouped(f.New) }),
	figures("moved", func(f verdict.CountedFunction) string {
		if f.New < f.Old {
			return grouped(f.New - f.Old)
		}
		return "+" + grouped(f.New-f.Old)
	}),
}

// Counts writes counted benchmarks, and in which functions those that changed did.
func Counts(w io.Writer, run *verdict.CountedRun, form Form) error {
	if form.JSON {
		return writeJSON(w, run)
	}
	all := run.Rows
	d := &doc{Form: form}
	if form.Markdown {
		d.printf("%s\n", BenchMarker)
		d.title("Instructions: " + string(run.Outcome))
	}
	var shown, moved []counted
	var failed, warnings, whys []string
	same := 0
	for i := range all {
		c := &all[i]
		for _, text := range c.Warnings {
			warnings = append(warnings, benchmarkName(c.Case)+": "+text)
		}
		switch {
		case c.Failed != "":
			failed = append(failed, benchmarkName(c.Case)+": "+c.Failed)
		case c.Old != nil && c.Outcome == verdict.Passed && !c.Moved() && len(all) > fewBenchmarks:
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
	table(d, countColumns(shown), shown, func(_ counted, text string) string {
		if text == string(verdict.Regressed) {
			return d.paint(red, text)
		}
		return text
	})
	for _, c := range moved {
		d.folded(benchmarkName(c.Case)+": in which functions", func() { table(d, countedFunctions, c.Functions, nil) })
	}
	d.printf("\n")
	if same > 0 {
		d.paragraph("- ", words.Counted(same, "benchmark")+" executed as many instructions as before")
	}
	d.marked("not passed:", whys...)
	d.marked("not counted:", append(failed, run.Notes...)...)
	d.marked("warning:", warnings...)
	d.note(verdict.NotTime)
	return d.writeTo(w)
}
