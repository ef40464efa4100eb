package show

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"postage/internal/kit/report"
	"postage/internal/kit/words"
	"postage/internal/verdict"
	"postage/record"
)

// Changes writes a comparison of two records, what matters most first.
func Changes(w io.Writer, c *verdict.Changes, form report.Form) error {
	if form.JSON {
		return ChangesJSON(w, c)
	}
	return write(w, c, headline(c), c.Rows, form)
}

// Gate writes a gate's outcome. In Markdown, for a job's summary, the rows that passed are left out.
func Gate(w io.Writer, c *verdict.Changes, form report.Form) error {
	if !form.Markdown {
		return Changes(w, c, form)
	}
	rows := slices.DeleteFunc(slices.Clone(c.Rows), func(r *verdict.Change) bool { return r.Outcome == verdict.Passed })
	return write(w, c, "Postage: "+string(c.Outcome()), rows, form)
}

// write writes a title and a table of rows, in 80 columns a table for each case, and then what holds
// for all of them.
func write(w io.Writer, c *verdict.Changes, title string, rows []*verdict.Change, form report.Form) error {
	d := &report.Doc{Form: form}
	d.Title(title)
	Recipe(d, c)
	switch {
	case !d.Markdown:
		d.Printf("\n")
	case title != headline(c):
		d.Paragraph("", headline(c))
	}
	paint := func(_ *verdict.Change, text string) string { return Colored(d, text) }
	if d.Markdown || d.Wide {
		report.Table(d, changeColumns(c, true), rows, paint)
		if d.Wide {
			d.Printf("\n")
		}
	} else {
		for _, group := range byCase(rows) {
			d.Lines(report.Bold, "", group[0].New.Row.Case, "  ")
			report.Table(d, changeColumns(c, false), group, paint)
			for _, r := range group {
				if text := countsText(r); text != "same" {
					d.Item(r.New.Row.Contender, text)
				}
			}
			d.Printf("\n")
		}
	}
	for _, u := range c.Unmatched {
		d.Item(u.Row, u.Reason)
	}
	if d.Markdown && len(c.Unmatched) > 0 {
		d.Printf("\n")
	}
	d.Marked("warning:", c.Warnings...)
	d.Note(method(c))
	return d.Print(w)
}

// byCase groups rows by case, in the order in which the cases come first.
func byCase(rows []*verdict.Change) (groups [][]*verdict.Change) {
	at := map[string]int{}
	for _, r := range rows {
		name := r.New.Row.Case
		if _, ok := at[name]; !ok {
			at[name] = len(groups)
			groups = append(groups, nil)
		}
		groups[at[name]] = append(groups[at[name]], r)
	}
	return groups
}

// Recipe prints what to do about an inconclusive comparison.
func Recipe(d *report.Doc, c *verdict.Changes) {
	recipe := c.Recipe()
	switch {
	case recipe == "":
	case d.Markdown:
		d.Printf("%s\n\n", report.Escape(recipe))
	default:
		d.Lines(report.Yellow, string(verdict.Inconclusive)+":", " "+recipe, "  ")
	}
}

// headline sums the comparison up: how many rows have which outcome, and under which thresholds
// they passed.
func headline(c *verdict.Changes) string {
	number, named := map[string]int{}, []string{"regressed", "inconclusive", "passed"}
	if !c.Paired {
		named = []string{"slower", "faster", "same", "undecided", "with larger counts"}
	}
	least, most := math.Inf(1), 0.0
	for _, r := range c.Rows {
		switch {
		case c.Paired:
			number[string(r.Outcome)]++
		case r.Outcome == verdict.Regressed:
			number["with larger counts"]++
			fallthrough
		default:
			number[string(r.Verdict)]++
		}
		if r.Time == verdict.Passed {
			least, most = min(least, r.Threshold), max(most, r.Threshold)
		}
	}
	parts := []string{}
	for _, word := range named {
		if n := number[word]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, word))
		}
	}
	if len(parts) == 0 {
		parts = []string{"nothing to compare"}
	}
	bound := ""
	if most > 0 {
		bound = fmt.Sprintf(" (a slowdown is under %.1f%%", 100*least)
		if most-least > 0.0005 {
			bound += fmt.Sprintf(" to %.1f%%, by row", 100*most)
		}
		bound += ")"
	}
	if c.AcrossMachines {
		bound += ", across machines"
	}
	return fmt.Sprintf("%s: %s%s", words.Counted(len(c.Rows), "row"), strings.Join(parts, ", "), bound)
}

func method(c *verdict.Changes) string {
	counts := fmt.Sprintf("allocs %s, bytes %s, size %s",
		report.Percent(c.Limits.Allocs), report.Percent(c.Limits.Bytes), report.Percent(c.Limits.Size))
	if slices.ContainsFunc(c.Rows, func(r *verdict.Change) bool { return r.New.InstructionsOp != nil }) {
		counts += ", instructions " + report.Percent(c.Limits.Instructions)
	}
	for _, unit := range slices.Sorted(maps.Keys(c.Limits.Metrics)) {
		counts += ", " + unit + " " + report.Percent(c.Limits.Metrics[unit])
	}
	if !c.Paired {
		return "advice: new/old of the time as a multiple of the anchor's in each run; the difference between two runs may not come from the code. " +
			"A verdict needs the whole interval (95%) beyond 5%; rows of the same code get one too, in about one of 20 pairs of runs " +
			"(docs/evidence/method.md). run --against gates; thresholds: " + counts
	}
	how, or := "Student's interval of 95%, its variance shrunk over the rows", ""
	if c.New.Run.Layouts > 1 {
		how += ", over function layouts"
	}
	if c.Limits.OrSeen {
		or = " or what could be seen, at most 10%"
	}
	return fmt.Sprintf("new/old of the time, batch by batch in the same rounds (%s, Holm over all rows); thresholds: time %s%s, %s",
		how, report.Percent(c.Limits.Time), or, counts)
}

// changeColumns are a comparison's columns: all of them, or for 80 columns and one case.
func changeColumns(c *verdict.Changes, wide bool) []report.Column[*verdict.Change] {
	name := func(r *verdict.Change) string { return r.New.Row.Contender }
	if wide {
		name = func(r *verdict.Change) string { return r.New.Row.Name }
	}
	columns := []report.Column[*verdict.Change]{report.Texts("row", name)}
	if c.Paired {
		columns = append(columns, report.Texts("outcome", func(r *verdict.Change) string { return string(r.Outcome) }))
	}
	columns = append(columns,
		report.Figures("new/old (95%)", func(r *verdict.Change) string { return report.ShortRatio(r.Ratio) }),
		report.Texts("verdict", func(r *verdict.Change) string { return string(r.Verdict) }),
		report.Figures("old ns/op", func(r *verdict.Change) string { return report.Grouped(r.Old.NSOp.Value) }).When(report.IfWide),
		report.Figures("new ns/op", func(r *verdict.Change) string { return report.Grouped(r.New.NSOp.Value) }).When(report.IfRoom))
	if c.Paired {
		columns = append(columns,
			report.Figures("p (Holm)", func(r *verdict.Change) string { return report.Probability(r.P) }).When(report.IfWide),
			report.Figures("could be seen", func(r *verdict.Change) string { return Seen(r.Seen) }).When(report.IfRoom))
	} else {
		columns = append(columns, report.Texts("anchor", func(r *verdict.Change) string { return cmp.Or(r.Anchor, "none") }).When(report.IfRoom))
	}
	return append(columns, report.Texts("counts", countsText).When(report.IfWide))
}

// Seen prints the smallest slowdown that would have been found.
func Seen(ratio float64) string {
	if math.IsInf(ratio, 1) {
		return "none"
	}
	return fmt.Sprintf("+%.1f%%", 100*(ratio-1))
}

// countsText names the counts that changed.
func countsText(r *verdict.Change) string {
	var changed []string
	for _, count := range r.Counts {
		if Differs(count) {
			changed = append(changed, fmt.Sprintf("%s %s to %s", count.Unit, report.Count(count.Old), report.Count(count.New)))
		}
	}
	for _, m := range r.Metrics {
		if m.Outcome != verdict.NotGated && m.Old != m.New {
			changed = append(changed, fmt.Sprintf("%s %s to %s", m.Unit, report.Count(m.Old), report.Count(m.New)))
		}
	}
	if len(changed) == 0 {
		return "same"
	}
	return strings.Join(changed, ", ")
}

// Differs reports whether a count changed. Instructions are never quite the same.
func Differs(c verdict.Count) bool {
	return c.Old != c.New && !(c.Unit == record.Instructions && math.Abs(c.New/c.Old-1) < 0.001)
}
