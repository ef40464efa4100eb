package report

import (
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
	metrics map[*verdict.Change][]verdict.MetricChange
}

func newBenchmarks(rec *record.Record, c *verdict.Changes) *benchmarks {
	b := &benchmarks{rec: rec, changes: c}
	units := map[string]bool{}
	a := verdict.Analyze(rec)
	for i := range a.Cases {
		one := &a.Cases[i]
		if one.Baseline == nil || one.Baseline.NSOp == nil {
			b.failed = append(b.failed, benchmarkName(one.Name)+": "+unmeasured(one.Baseline, one.Rows[0]))
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
	b.metrics = c.Metrics()
	for i := range c.Rows {
		if r := &c.Rows[i]; len(c.Rows) <= fewBenchmarks || BenchChanged(r) {
			b.shown = append(b.shown, r)
		} else {
			b.folded = append(b.folded, r)
		}
	}
	slices.SortStableFunc(b.shown, func(x, y *verdict.Change) int {
		return boolCompare(BenchChanged(y), BenchChanged(x))
	})
	return b
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// BenchChanged reports whether a row's time or one of its counts has changed.
func BenchChanged(r *verdict.Change) bool {
	return r.Verdict == stats.Faster || r.Verdict == stats.Slower || r.Outcome == verdict.Regressed ||
		slices.ContainsFunc(r.Counts, differs)
}

// benchmarkName is a row's benchmark as a reader knows it: "codec Marshal/size=10".
func benchmarkName(caseName string) string {
	name := strings.TrimPrefix(caseName, "Bench/pkg=")
	return strings.Replace(name, "/", " ", 1)
}

// BenchTerminal writes a run of Go benchmarks for a person: beside the revision that it was
// against, or their own figures. c is nil if it was against none; notes are lines about what was
// not measured.
func BenchTerminal(w io.Writer, rec *record.Record, c *verdict.Changes, notes []string, color bool) error {
	b := newBenchmarks(rec, c)
	t := &terminal{color: color}
	switch {
	case c == nil && len(b.cases) > 0:
		printTable(t, "", b.absolute(), b.cases, func(_ *verdict.CaseResult, text string) string { return text })
	case len(b.shown) > 0:
		printTable(t, "", b.compared(), b.shown, func(_ *verdict.Change, text string) string {
			switch text {
			case string(stats.Faster):
				return t.paint(green, text)
			case string(stats.Slower), string(verdict.Regressed):
				return t.paint(red, text)
			}
			return text
		})
	}
	for _, line := range b.summary() {
		t.printf("%s\n", line)
	}
	if c != nil {
		t.recipe(c)
	}
	for _, line := range slices.Concat(b.failed, notes) {
		t.printf("%s %s\n", t.paint(yellow, "not measured:"), line)
	}
	for _, line := range b.warnings() {
		t.printf("%s %s\n", t.paint(yellow, "warning:"), line)
	}
	t.printf("%s\n", t.paint(dim, benchProof))
	t.footer(rec)
	_, err := io.WriteString(w, t.b.String())
	return err
}

const benchProof = "proof: none, a Go benchmark"

// BenchMarker begins the Markdown of a run of Go benchmarks, so that a comment can be found and
// replaced.
const BenchMarker = "<!-- postage bench -->"

// BenchMarkdown is BenchTerminal as GitHub shows it, for a comment or a job's summary.
func BenchMarkdown(w io.Writer, rec *record.Record, c *verdict.Changes, notes []string) error {
	b := newBenchmarks(rec, c)
	var s strings.Builder
	fmt.Fprintf(&s, "%s\n", BenchMarker)
	if c == nil {
		fmt.Fprintf(&s, "### Benchmarks\n\n")
		markdownRows(&s, b.absolute(), b.cases)
	} else {
		markdownOutcome(&s, "Benchmarks", c)
		markdownRows(&s, b.compared(), b.shown)
	}
	for _, line := range b.summary() {
		fmt.Fprintf(&s, "%s\n\n", plain(line))
	}
	if len(b.folded) > 0 {
		fmt.Fprintf(&s, "<details><summary>unchanged</summary>\n\n")
		markdownRows(&s, b.compared(), b.folded)
		fmt.Fprintf(&s, "</details>\n\n")
	}
	for _, line := range slices.Concat(b.failed, notes) {
		fmt.Fprintf(&s, "- not measured: %s\n", plain(line))
	}
	for _, line := range b.warnings() {
		fmt.Fprintf(&s, "- **warning:** %s\n", plain(line))
	}
	fmt.Fprintf(&s, "\n> %s\n>\n> %s\n", benchProof, plain(machineText(rec)))
	_, err := io.WriteString(w, s.String())
	return err
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
			if r.Verdict == stats.Same {
				same++
			}
			worst = max(worst, r.Seen)
		}
		lines = append(lines, fmt.Sprintf("%s unchanged: %d the same, %d undecided; the smallest change that could be seen in all of them: %s",
			words.Counted(n, "benchmark"), same, n-same, seen(worst)))
	}
	sum, square := 0.0, 0.0
	for i := range b.changes.Rows {
		r := &b.changes.Rows[i].Ratio
		sum += math.Log(r.Value)
		half := math.Log(r.High/r.Low) / 2
		square += half * half
	}
	n := float64(len(b.changes.Rows))
	mean, half := sum/n, math.Sqrt(square)/n
	return append(lines, fmt.Sprintf("geometric mean of new/old over %s: %s", words.Counted(len(b.changes.Rows), "benchmark"),
		intervalText(verdict.Interval{Value: math.Exp(mean), Low: math.Exp(mean - half), High: math.Exp(mean + half)})))
}

// unmeasured says why a benchmark has no figures.
func unmeasured(rows ...*verdict.Result) string {
	for _, r := range rows {
		if r != nil {
			reason := strings.TrimPrefix(r.Reason(), string(record.ProofNotPossible))
			return strings.TrimPrefix(reason, string(record.ProofFailed))
		}
	}
	return "it has no rows"
}

func (b *benchmarks) measured(caseName string) bool {
	return slices.ContainsFunc(b.cases, func(c *verdict.CaseResult) bool { return c.Name == caseName })
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
		if !row.OK() && row.Role != record.RoleBaseline && b.measured(row.Case) {
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
		{"benchmark", true, func(c *verdict.CaseResult) string { return benchmarkName(c.Name) }},
		{"ns/op", false, func(c *verdict.CaseResult) string { return grouped(c.Baseline.NSOp.Value) }},
		{"±", false, func(c *verdict.CaseResult) string { return plusMinus(c.Baseline.NSOp) }},
		{"spread", false, func(c *verdict.CaseResult) string { return b.spread(c) }},
		{"B/op", false, func(c *verdict.CaseResult) string { return words.Integer(*c.Baseline.BytesOp) }},
		{"allocs/op", false, func(c *verdict.CaseResult) string { return words.Integer(*c.Baseline.AllocsOp) }},
	}
	if b.instructions() {
		columns = append(columns, column[*verdict.CaseResult]{record.Instructions, false, func(c *verdict.CaseResult) string {
			if x := c.Baseline.InstructionsOp; x != nil {
				return grouped(x.Value) + " " + plusMinus(x)
			}
			return "n/a"
		}})
	}
	for _, unit := range b.units {
		columns = append(columns, column[*verdict.CaseResult]{unit, false, func(c *verdict.CaseResult) string { return b.metric(c, unit) }})
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
		if row.Value == record.ValueCost && s.CPUNS != nil {
			each = s.CPUNSPerOp(row.N)
		}
		times[block.Layout] = append(times[block.Layout], stats.Median(each))
	}
	var medians []float64
	for _, of := range times {
		medians = append(medians, stats.Median(of))
	}
	if len(medians) < 2 {
		return "n/a"
	}
	return fmt.Sprintf("+%.1f%%", 100*(slices.Max(medians)/slices.Min(medians)-1))
}

// compared are the columns of benchmarks beside their old versions.
func (b *benchmarks) compared() []column[*verdict.Change] {
	columns := []column[*verdict.Change]{
		{"benchmark", true, func(r *verdict.Change) string { return benchmarkName(r.New.Row.Case) }},
		{"old ns/op", false, func(r *verdict.Change) string { return grouped(r.Old.NSOp.Value) }},
		{"new ns/op", false, func(r *verdict.Change) string { return grouped(r.New.NSOp.Value) }},
		{"new/old (95% interval)", false, func(r *verdict.Change) string { return intervalText(r.Ratio) }},
		{"verdict", true, func(r *verdict.Change) string { return string(r.Verdict) }},
		{"could be seen", false, func(r *verdict.Change) string { return seen(r.Seen) }},
		{"layouts", false, func(r *verdict.Change) string { return b.layouts(r.New.Row) }},
		{"allocs/op", false, func(r *verdict.Change) string { return fromTo(float64(*r.Old.AllocsOp), float64(*r.New.AllocsOp)) }},
		{"B/op", false, func(r *verdict.Change) string { return fromTo(float64(*r.Old.BytesOp), float64(*r.New.BytesOp)) }},
	}
	if b.instructions() {
		columns = append(columns, column[*verdict.Change]{record.Instructions, false, func(r *verdict.Change) string {
			was, is := r.Old.InstructionsOp, r.New.InstructionsOp
			switch {
			case was == nil || is == nil:
				return "n/a"
			case slices.ContainsFunc(r.Counts, func(c verdict.Count) bool { return c.Unit == record.Instructions && differs(c) }):
				return grouped(was.Value) + " → " + grouped(is.Value)
			}
			return grouped(is.Value)
		}})
	}
	for _, unit := range b.units {
		columns = append(columns, column[*verdict.Change]{unit, false, func(r *verdict.Change) string {
			for _, m := range b.metrics[r] {
				if m.Unit == unit {
					return metricChangeText(&m)
				}
			}
			return "n/a"
		}})
	}
	return columns
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
	s := stats.Paired(values, 0.05)
	return figure(s.Value) + " " + plusMinus(&verdict.Interval{Value: s.Value, Low: s.Low, High: s.High})
}

// metricChangeText is such a figure in the old code and the new, and their ratio unless both are
// the same.
func metricChangeText(m *verdict.MetricChange) string {
	text := fromTo(m.Old, m.New)
	if m.Old == m.New && m.Verdict == verdict.MetricSame {
		return text
	}
	if m.Ratio != nil {
		text += "  " + intervalText(*m.Ratio)
	}
	return text + "  " + string(m.Verdict)
}

// fromTo prints a figure, and what it was if that was another.
func fromTo(was, is float64) string {
	if was == is {
		return figure(is)
	}
	return figure(was) + " → " + figure(is)
}
