package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"postage/internal/stats"
	"postage/internal/verdict"
	"postage/internal/words"
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
			why := strings.TrimPrefix(cmp.Or(one.Baseline, one.Rows[0]).Reason(), string(record.ProofNotPossible))
			b.failed = append(b.failed, benchmarkName(one.Name)+": "+strings.TrimPrefix(why, string(record.ProofFailed)))
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
		if len(c.Rows) <= fewBenchmarks || BenchChanged(r) {
			b.shown = append(b.shown, r)
		} else {
			b.folded = append(b.folded, r)
		}
	}
	slices.SortStableFunc(b.shown, func(x, y *verdict.Change) int {
		return strings.Compare(fmt.Sprint(!BenchChanged(x)), fmt.Sprint(!BenchChanged(y)))
	})
	return b
}

// BenchChanged reports whether a row's time or one of its counts has changed.
func BenchChanged(r *verdict.Change) bool {
	return r.Verdict == verdict.Faster || r.Verdict == verdict.Slower || r.Outcome == verdict.Regressed ||
		slices.ContainsFunc(r.Counts, differs)
}

// benchmarkName is a row's benchmark as a reader knows it: "codec Marshal/size=10".
func benchmarkName(caseName string) string {
	name := strings.TrimPrefix(caseName, "Bench/pkg=")
	return strings.Replace(name, "/", " ", 1)
}

const benchProof = "proof: none, a Go benchmark"

// BenchMarker begins the Markdown of a run of Go benchmarks, so that a comment can be found and
// replaced.
const BenchMarker = "<!-- postage bench -->"

// Bench writes a run of Go benchmarks: beside the revision that it was against, or their own
// figures. c is nil if it was against none; notes are lines about what was not measured. The JSON
// is that of a record, or of a comparison.
func Bench(w io.Writer, rec *record.Record, c *verdict.Changes, notes []string, form Form) error {
	switch {
	case form.JSON && c == nil:
		return Record(w, rec, nil, form)
	case form.JSON:
		return changesJSON(w, c)
	}
	b := newBenchmarks(rec, c)
	d := &doc{Form: form}
	if form.Markdown {
		d.printf("%s\n", BenchMarker)
		if c != nil {
			d.title("Benchmarks: " + string(c.Outcome()))
			Recipe(d, c)
		} else {
			d.title("Benchmarks")
		}
	}
	if c == nil && len(b.cases) > 0 {
		table(d, b.absolute(), b.cases, nil)
	} else if len(b.shown) > 0 {
		b.compared(d, b.shown)
	}
	d.paragraph("", b.summary()...)
	if form.Markdown && len(b.folded) > 0 {
		d.printf("<details><summary>unchanged</summary>\n\n")
		b.compared(d, b.folded)
		d.printf("</details>\n\n")
	}
	if c != nil && !form.Markdown {
		Recipe(d, c)
	}
	for _, line := range slices.Concat(b.failed, notes) {
		bullet(d, "not measured:", line)
	}
	for _, line := range b.warnings() {
		bullet(d, "warning:", line)
	}
	if form.Markdown {
		d.printf("\n> %s\n>\n> %s\n", benchProof, plain(machineText(rec)))
		return d.writeTo(w)
	}
	d.note(benchProof)
	Footer(d, rec)
	return d.writeTo(w)
}

// bullet is a marked line, in Markdown one of a list. A message of a benchmark is one line,
// however long.
func bullet(d *doc, mark, line string) {
	if d.Markdown {
		d.printf("- **%s** %s\n", mark, plain(line))
		return
	}
	d.printf("%s %s\n", d.paint(yellow, mark), line)
}

// summary is what is said of all rows together.
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
			words.Counted(n, "benchmark"), same, n-same, seen(worst)))
	}
	sum, square := 0.0, 0.0
	for _, r := range b.changes.Rows {
		sum += math.Log(r.Ratio.Value)
		half := math.Log(r.Ratio.High/r.Ratio.Low) / 2
		square += half * half
	}
	n := float64(len(b.changes.Rows))
	mean, half := sum/n, math.Sqrt(square)/n
	return append(lines, fmt.Sprintf("geometric mean of new/old over %s: %s", words.Counted(len(b.changes.Rows), "benchmark"),
		RatioText(verdict.Interval{Value: math.Exp(mean), Low: math.Exp(mean - half), High: math.Exp(mean + half)})))
}

// warnings are the run's, the comparison's, and the rows' own.
func (b *benchmarks) warnings() []string {
	lines := slices.Clone(b.rec.Run.Warnings)
	if b.changes != nil && len(b.rec.Rows) > 0 {
		lines = append(lines, b.changes.Warnings...)
	}
	of := map[string][]string{} // benchmarks by what is to be told of them
	for i := range b.rec.Rows {
		row := &b.rec.Rows[i]
		if row.Role != record.RoleControl {
			for _, w := range row.Warnings {
				if !slices.Contains(of[w], benchmarkName(row.Case)) {
					of[w] = append(of[w], benchmarkName(row.Case))
				}
			}
		}
		if low, high := b.allocations(row); low != high && row.Role == record.RoleBaseline {
			lines = append(lines, fmt.Sprintf("%s: its allocations differ from block to block: %d to %d allocs/op", benchmarkName(row.Case), low, high))
		}
		measured := func(c *verdict.CaseResult) bool { return c.Name == row.Case }
		if !row.OK() && row.Role != record.RoleBaseline && slices.ContainsFunc(b.cases, measured) {
			lines = append(lines, fmt.Sprintf("%s (%s): %s", benchmarkName(row.Case), row.Contender, row.Proof))
		}
	}
	for _, w := range slices.Sorted(maps.Keys(of)) {
		lines = append(lines, strings.Join(of[w], ", ")+": "+w)
	}
	return lines
}

// allocations are the fewest and the most that a block has, an operation.
func (b *benchmarks) allocations(row *record.Row) (fewest, most int64) {
	fewest = math.MaxInt64
	for _, block := range b.rec.BlocksOf(row.Case) {
		if s := block.Of(row.Name); s != nil {
			n := s.AllocsPerOp(row.N)
			fewest, most = min(fewest, n), max(most, n)
		}
	}
	return min(fewest, most), most
}

// absolute are the columns of benchmarks without a comparison.
func (b *benchmarks) absolute() []column[*verdict.CaseResult] {
	columns := []column[*verdict.CaseResult]{
		texts("benchmark", func(c *verdict.CaseResult) string { return benchmarkName(c.Name) }),
		figures("ns/op", func(c *verdict.CaseResult) string { return grouped(c.Baseline.NSOp.Value) }),
		figures("±", func(c *verdict.CaseResult) string { return plusMinus(c.Baseline.NSOp) }),
		figures("spread", b.spread),
		figures("B/op", func(c *verdict.CaseResult) string { return words.Integer(*c.Baseline.BytesOp) }),
		figures("allocs/op", func(c *verdict.CaseResult) string { return words.Integer(*c.Baseline.AllocsOp) }),
	}
	if b.instructions() {
		columns = append(columns, figures(record.Instructions, func(c *verdict.CaseResult) string { return instructionsText(c.Baseline) }).when(ifRoom))
	}
	for _, unit := range b.units {
		columns = append(columns, figures(unit, func(c *verdict.CaseResult) string { return b.metric(c, unit) }).when(ifRoom))
	}
	return columns
}

// spread is by how much processes of one and the same program differ: the slowest over the fastest,
// by the median of their batches.
func (b *benchmarks) spread(c *verdict.CaseResult) string {
	var times []float64
	for _, block := range b.rec.BlocksOf(c.Name) {
		for _, r := range []*verdict.Result{c.Baseline, c.Control} {
			if r == nil {
				continue
			}
			if s := block.Of(r.Row.Name); s != nil {
				times = append(times, stats.Median(s.NSPerOp(r.Row.N)))
			}
		}
	}
	return slowestOver(times)
}

// slowestOver is by how much the slowest takes longer than the fastest.
func slowestOver(times []float64) string {
	if len(times) < 2 {
		return "n/a"
	}
	return fmt.Sprintf("+%.1f%%", 100*(slices.Max(times)/slices.Min(times)-1))
}

// layouts is by how much function layouts of one and the same code differ: the slowest over the
// fastest, by the median of their blocks' medians; "n/a" where there were not two.
func (b *benchmarks) layouts(row *record.Row) string {
	times := map[int][]float64{}
	for _, block := range b.rec.BlocksOf(row.Case) {
		s := block.Of(row.Name)
		if s == nil || block.Layout == 0 {
			continue
		}
		each := s.NSPerOp(row.N)
		if cpu := s.CPUNSPerOp(row.N); row.Value == record.ValueCost && len(cpu) > 0 {
			each = cpu
		}
		times[block.Layout] = append(times[block.Layout], stats.Median(each))
	}
	var medians []float64
	for _, of := range times {
		medians = append(medians, stats.Median(of))
	}
	return slowestOver(medians)
}

// compared is a table of benchmarks beside their old versions.
func (b *benchmarks) compared(d *doc, rows []*verdict.Change) {
	interval, wide := RatioText, d.Markdown || d.Wide
	if !wide {
		interval = shortRatio
	}
	columns := []column[*verdict.Change]{
		texts("benchmark", func(r *verdict.Change) string { return benchmarkName(r.New.Row.Case) }),
		figures("old ns/op", func(r *verdict.Change) string { return grouped(r.Old.NSOp.Value) }).when(ifRoom),
		figures("new ns/op", func(r *verdict.Change) string { return grouped(r.New.NSOp.Value) }),
		figures("new/old (95%)", func(r *verdict.Change) string { return interval(r.Ratio) }),
		texts("verdict", func(r *verdict.Change) string { return string(r.Verdict) }),
		figures("could be seen", func(r *verdict.Change) string { return seen(r.Seen) }).when(ifRoom),
		figures("layouts", func(r *verdict.Change) string { return b.layouts(r.New.Row) }).when(ifRoom),
		figures("allocs/op", func(r *verdict.Change) string { return fromTo(float64(*r.Old.AllocsOp), float64(*r.New.AllocsOp)) }),
		figures("B/op", func(r *verdict.Change) string { return fromTo(float64(*r.Old.BytesOp), float64(*r.New.BytesOp)) }).when(ifRoom),
	}
	if b.instructions() {
		columns = append(columns, figures(record.Instructions, func(r *verdict.Change) string {
			was, is := r.Old.InstructionsOp, r.New.InstructionsOp
			switch {
			case was == nil || is == nil:
				return "n/a"
			case slices.ContainsFunc(r.Counts, func(c verdict.Count) bool { return c.Unit == record.Instructions && differs(c) }):
				return grouped(was.Value) + " → " + grouped(is.Value)
			}
			return grouped(is.Value)
		}).when(ifRoom))
	}
	for _, unit := range b.units {
		columns = append(columns, figures(unit, func(r *verdict.Change) string {
			for _, m := range r.Metrics {
				if m.Unit == unit {
					return metricChangeText(&m)
				}
			}
			return "n/a"
		}).when(ifRoom))
	}
	table(d, columns, rows, func(_ *verdict.Change, text string) string { return Colored(d, text) })
}

// instructions reports whether those of any benchmark were counted.
func (b *benchmarks) instructions() bool {
	return slices.ContainsFunc(b.cases, func(c *verdict.CaseResult) bool { return c.Baseline.InstructionsOp != nil })
}

// metric is a figure that the benchmark reports itself, with the interval of the blocks' medians.
func (b *benchmarks) metric(c *verdict.CaseResult, unit string) string {
	var values []float64
	for _, block := range b.rec.BlocksOf(c.Name) {
		if s := block.Of(c.Baseline.Row.Name); s != nil && len(s.Counters[unit]) > 0 {
			values = append(values, record.CounterPerOp(s.Counters[unit], c.Baseline.Row.N))
		}
	}
	if len(values) == 0 {
		return "n/a"
	}
	if slices.Min(values) == slices.Max(values) {
		return figure(values[0])
	}
	i := verdict.Located(values)
	return figure(i.Value) + " " + plusMinus(i)
}

// metricChangeText is such a figure in the old code and the new, and their ratio unless both are
// the same.
func metricChangeText(m *verdict.MetricChange) string {
	text := fromTo(m.Old, m.New)
	if m.Old == m.New && m.Verdict == verdict.Same {
		return text
	}
	if m.Ratio != nil {
		text += "  " + RatioText(*m.Ratio)
	}
	return text + "  " + string(m.Verdict)
}
