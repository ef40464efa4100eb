package bench

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"postage/internal/feature/show"
	"postage/internal/kit/report"
	"postage/internal/kit/words"
	"postage/internal/verdict"
	"postage/record"
)

// fewBenchmarks is up to how many rows are all printed; beyond it, the unchanged ones are one line.
const fewBenchmarks = 12

// benchmarks is what is printed of a run of Go benchmarks.
type benchmarks struct {
	rec     *record.Record
	cases   []*verdict.CaseResult // without those that failed
	changes *verdict.Changes      // nil if the run was made without --against
	shown   []*verdict.Change     // changes first
	folded  []*verdict.Change
	failed  []string // lines
	units   []string // the benchmarks' own
}

func newBenchmarks(rec *record.Record, c *verdict.Changes) *benchmarks {
	b := &benchmarks{rec: rec, changes: c}
	units := map[string]bool{}
	for _, one := range verdict.Analyze(rec).Cases {
		if one.Baseline == nil || one.Baseline.NSOp == nil {
			_, why, _ := strings.Cut(cmp.Or(one.Baseline, one.Rows[0]).Reason(), ": ") // without its kind
			b.failed = append(b.failed, benchmarkName(one.Name)+": "+why)
			continue
		}
		b.cases = append(b.cases, one)
		for unit := range one.Baseline.Metrics {
			if unit != record.ClientCPU {
				units[unit] = true
			}
		}
	}
	b.units = slices.Sorted(maps.Keys(units))
	if c == nil {
		return b
	}
	for _, r := range c.Rows {
		if len(c.Rows) <= fewBenchmarks || Changed(r) {
			b.shown = append(b.shown, r)
		} else {
			b.folded = append(b.folded, r)
		}
	}
	slices.SortStableFunc(b.shown, func(x, y *verdict.Change) int {
		return strings.Compare(fmt.Sprint(!Changed(x)), fmt.Sprint(!Changed(y)))
	})
	return b
}

// Changed reports whether a row's time or one of its counts has changed.
func Changed(r *verdict.Change) bool {
	return r.Verdict == verdict.Faster || r.Verdict == verdict.Slower || r.Outcome == verdict.Regressed ||
		slices.ContainsFunc(r.Counts, show.Differs)
}

// benchmarkName is a row's benchmark as a reader knows it: "codec Marshal/size=10".
func benchmarkName(caseName string) string {
	name := strings.TrimPrefix(caseName, "Bench/pkg=")
	return strings.Replace(name, "/", " ", 1)
}

const benchProof = "proof: none, a Go benchmark"

// Marker begins the Markdown of a run of Go benchmarks, so that a comment can be found and
// replaced.
const Marker = "<!-- postage bench -->"

// Print writes a run of Go benchmarks: beside the revision that it was against, or their own
// figures. c is nil if it was against none; notes are lines about what was not measured. The JSON
// is a record's, or a comparison's.
func Print(w io.Writer, rec *record.Record, c *verdict.Changes, notes []string, form report.Form) error {
	switch {
	case form.JSON && c == nil:
		return show.Record(w, rec, nil, form)
	case form.JSON:
		return show.ChangesJSON(w, c)
	}
	b := newBenchmarks(rec, c)
	d := &report.Doc{Form: form}
	if form.Markdown {
		d.Printf("%s\n", Marker)
		if c != nil {
			d.Title("Benchmarks: " + string(c.Outcome()))
			show.Recipe(d, c)
		} else {
			d.Title("Benchmarks")
		}
	}
	if c == nil && len(b.cases) > 0 {
		report.Table(d, b.absolute(), b.cases, nil)
	} else if len(b.shown) > 0 {
		b.compared(d, b.shown)
	}
	d.Paragraph("", b.summary()...)
	if form.Markdown && len(b.folded) > 0 {
		d.Printf("<details><summary>unchanged</summary>\n\n")
		b.compared(d, b.folded)
		d.Printf("</details>\n\n")
	}
	if c != nil && !form.Markdown {
		show.Recipe(d, c)
	}
	for _, line := range slices.Concat(b.failed, notes) {
		bullet(d, "not measured:", line)
	}
	for _, line := range b.warnings() {
		bullet(d, "warning:", line)
	}
	if form.Markdown {
		d.Printf("\n> %s\n>\n> %s\n", benchProof, report.Escape(show.MachineText(rec)))
		return d.Print(w)
	}
	d.Note(benchProof)
	show.Footer(d, rec)
	return d.Print(w)
}

// bullet is a marked line, in Markdown one of a list. A message of a benchmark is one line,
// however long.
func bullet(d *report.Doc, mark, line string) {
	if d.Markdown {
		d.Printf("- **%s** %s\n", mark, report.Escape(line))
		return
	}
	d.Printf("%s %s\n", d.Paint(report.Yellow, mark), line)
}

// summary says what all rows have in common.
func (b *benchmarks) summary() []string {
	if b.changes == nil || len(b.changes.Rows) == 0 {
		return nil
	}
	var lines []string
	if n := len(b.folded); n > 0 {
		same, worst := 0, 1.0
		for _, r := range b.folded {
			if r.Verdict == verdict.Same {
				same++
			}
			worst = max(worst, r.Seen)
		}
		lines = append(lines, fmt.Sprintf("%s unchanged: %d the same, %d undecided; the smallest change that could be seen in all of them: %s",
			words.Counted(n, "benchmark"), same, n-same, show.Seen(worst)))
	}
	n, sum, square := 0.0, 0.0, 0.0
	for _, r := range b.changes.Rows {
		if !r.Ratio.Bounded() {
			continue // too few blocks to say anything
		}
		n++
		sum += math.Log(r.Ratio.Value)
		half := math.Log(r.Ratio.High/r.Ratio.Low) / 2
		square += half * half
	}
	if n == 0 {
		return lines
	}
	mean, half := sum/n, math.Sqrt(square)/n
	return append(lines, fmt.Sprintf("geometric mean of new/old over %s: %s", words.Counted(int(n), "benchmark"),
		report.RatioText(verdict.Interval{Value: math.Exp(mean), Low: math.Exp(mean - half), High: math.Exp(mean + half)})))
}

// warnings are the run's, the comparison's, and the rows' own.
func (b *benchmarks) warnings() []string {
	lines := slices.Clone(b.rec.Run.Warnings)
	if b.changes != nil && len(b.rec.Rows) > 0 {
		lines = append(lines, b.changes.Warnings...)
	}
	warned := map[string][]string{} // benchmarks by their warning
	for i := range b.rec.Rows {
		row := &b.rec.Rows[i]
		if row.Role != record.RoleControl {
			for _, w := range row.Warnings {
				if !slices.Contains(warned[w], benchmarkName(row.Case)) {
					warned[w] = append(warned[w], benchmarkName(row.Case))
				}
			}
		}
		measured := func(c *verdict.CaseResult) bool { return c.Name == row.Case }
		if !row.OK() && row.Role != record.RoleBaseline && slices.ContainsFunc(b.cases, measured) {
			lines = append(lines, fmt.Sprintf("%s (%s): %s", benchmarkName(row.Case), row.Contender, row.Proof))
		}
	}
	for _, w := range slices.Sorted(maps.Keys(warned)) {
		lines = append(lines, strings.Join(warned[w], ", ")+": "+w)
	}
	return lines
}

// absolute are the columns of benchmarks without a comparison.
func (b *benchmarks) absolute() []report.Column[*verdict.CaseResult] {
	columns := []report.Column[*verdict.CaseResult]{
		report.Texts("benchmark", func(c *verdict.CaseResult) string { return benchmarkName(c.Name) }),
		report.Figures("ns/op", func(c *verdict.CaseResult) string { return report.Grouped(c.Baseline.NSOp.Value) }),
		report.Figures("±", func(c *verdict.CaseResult) string { return report.PlusMinus(c.Baseline.NSOp) }),
		report.Figures("B/op", func(c *verdict.CaseResult) string { return words.Integer(*c.Baseline.BytesOp) }),
		report.Figures("allocs/op", func(c *verdict.CaseResult) string { return words.Integer(*c.Baseline.AllocsOp) }),
	}
	for _, unit := range b.units {
		columns = append(columns, report.Figures(unit, func(c *verdict.CaseResult) string { return metric(c, unit) }).When(report.IfRoom))
	}
	return columns
}

// compared is a table of benchmarks beside their old versions.
func (b *benchmarks) compared(d *report.Doc, rows []*verdict.Change) {
	interval, wide := report.RatioText, d.Markdown || d.Wide
	if !wide {
		interval = report.ShortRatio
	}
	ratio := func(r *verdict.Change) string {
		if !r.Ratio.Bounded() {
			return "no interval"
		}
		return interval(r.Ratio)
	}
	columns := []report.Column[*verdict.Change]{
		report.Texts("benchmark", func(r *verdict.Change) string { return benchmarkName(r.New.Row.Case) }),
		report.Figures("old ns/op", func(r *verdict.Change) string { return report.Grouped(r.Old.NSOp.Value) }).When(report.IfRoom),
		report.Figures("new ns/op", func(r *verdict.Change) string { return report.Grouped(r.New.NSOp.Value) }),
		report.Figures("new/old (95%)", ratio),
		report.Texts("verdict", func(r *verdict.Change) string { return string(r.Verdict) }),
		report.Figures("could be seen", func(r *verdict.Change) string { return show.Seen(r.Seen) }).When(report.IfRoom),
		report.Figures("allocs/op", func(r *verdict.Change) string {
			return report.FromTo(float64(*r.Old.AllocsOp), float64(*r.New.AllocsOp))
		}),
		report.Figures("B/op", func(r *verdict.Change) string { return report.FromTo(float64(*r.Old.BytesOp), float64(*r.New.BytesOp)) }).When(report.IfRoom),
	}
	for _, unit := range b.units {
		columns = append(columns, report.Figures(unit, func(r *verdict.Change) string {
			for _, m := range r.Metrics {
				if m.Unit == unit {
					return metricChangeText(&m)
				}
			}
			return "n/a"
		}).When(report.IfRoom))
	}
	report.Table(d, columns, rows, func(_ *verdict.Change, text string) string { return show.Colored(d, text) })
}

// metric is a figure that the benchmark reports itself.
func metric(c *verdict.CaseResult, unit string) string {
	value, reported := c.Baseline.Metrics[unit]
	if !reported {
		return "n/a"
	}
	return report.Count(value)
}

// metricChangeText is such a figure in the old code and the new, and their ratio unless both are
// the same.
func metricChangeText(m *verdict.MetricChange) string {
	text := report.FromTo(m.Old, m.New)
	if m.Old == m.New && m.Verdict == verdict.Same {
		return text
	}
	if m.Ratio != nil {
		text += "  " + report.RatioText(*m.Ratio)
	}
	text += "  " + string(m.Verdict)
	switch {
	case m.Better == "" || m.Verdict != verdict.Higher && m.Verdict != verdict.Lower:
		return text
	case m.Better == string(m.Verdict):
		return text + ", better"
	}
	return text + ", worse"
}
