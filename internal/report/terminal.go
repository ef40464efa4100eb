package report

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"

	"postage/internal/cost"
	"postage/internal/stats"
	"postage/internal/verdict"
	"postage/internal/words"
	"postage/record"
)

// Terminal writes the record for a person: who won, then a table a case. Stages say what
// their figures mean. With color it uses ANSI escape sequences.
func Terminal(w io.Writer, rec *record.Record, stages []verdict.Stage, color bool) error {
	t := &terminal{color: color}
	a := verdict.Analyze(rec)
	var cases []cost.Case
	for i := range a.Cases {
		cases = append(cases, cost.Case{CaseResult: &a.Cases[i], Record: rec})
	}
	if busy := busyText(rec); busy != "" {
		t.printf("%s\n\n", t.paint(yellow, busy))
	}
	t.printMillions(millions(stages, cases))
	if lines := sentences(a, rec, stages); len(lines) > 0 {
		t.printf("%s\n\n", strings.Join(lines, "\n"))
	}
	if lines := sight(a, rec); len(lines) > 0 {
		t.printf("%s\n\n", strings.Join(lines, "\n"))
	}
	for i := range a.Cases {
		t.caseTable(&a.Cases[i])
		t.printf("\n")
	}
	for _, warning := range a.Warnings {
		t.printf("%s %s\n", t.paint(yellow, "warning:"), warning)
	}
	t.footer(rec)
	_, err := io.WriteString(w, t.b.String())
	return err
}

type terminal struct {
	b     strings.Builder
	color bool
}

var (
	bold   = lipgloss.NewStyle().Bold(true)
	dim    = lipgloss.NewStyle().Faint(true)
	green  = lipgloss.NewStyle().Foreground(lipgloss.Green)
	red    = lipgloss.NewStyle().Foreground(lipgloss.Red)
	yellow = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
)

func (t *terminal) printf(format string, a ...any) { fmt.Fprintf(&t.b, format, a...) }

func (t *terminal) paint(style lipgloss.Style, s string) string {
	if !t.color {
		return s
	}
	return style.Render(s)
}

func (t *terminal) caseTable(c *verdict.CaseResult) {
	t.printf("%s  %s\n", t.paint(bold, c.Name), t.paint(dim, comparedText(c)))
	if why := c.Unmeasured(); why != "" {
		t.printf("  none of its %s: %s\n", words.Counted(len(c.Rows), "row"), why)
		return
	}
	with, without := split(c)
	if len(with) > 0 {
		printTable(t, "  ", columnsOf(c), with, t.cell)
	}
	for _, r := range without {
		t.printf("  %s  %s\n", r.Row.Contender, t.paint(red, r.Reason()))
	}
	t.control(c)
}

// comparedText says how much was measured of a case, and what its rows are compared with.
func comparedText(c *verdict.CaseResult) string {
	baseline := "none"
	if c.Baseline != nil {
		baseline = c.Baseline.Row.Contender
	}
	return fmt.Sprintf("%s, compared with %s", words.Counted(c.Blocks, "block"), baseline)
}

// split separates the rows with figures from those without. The control is in neither
// if it has figures: it has a line of its own.
func split(c *verdict.CaseResult) (with, without []*verdict.Result) {
	for _, r := range c.Rows {
		switch {
		case r.NSOp == nil:
			without = append(without, r)
		case r != c.Control:
			with = append(with, r)
		}
	}
	return with, without
}

// printTable prints rows, with their texts coloured by paint.
func printTable[T any](t *terminal, indent string, columns []column[T], rows []T, paint func(row T, text string) string) {
	var header []string
	var left []int
	for i, column := range columns {
		header = append(header, column.title)
		if column.left {
			left = append(left, i)
		}
	}
	var cells [][]string
	for _, row := range rows {
		cells = append(cells, nil)
		for _, column := range columns {
			cells[len(cells)-1] = append(cells[len(cells)-1], paint(row, column.text(row)))
		}
	}
	t.grid(indent, header, cells, left...)
}

// grid prints a table whose columns are aligned right, but for those given.
func (t *terminal) grid(indent string, header []string, rows [][]string, left ...int) {
	body := table.New().Border(lipgloss.HiddenBorder()).BorderTop(false).BorderBottom(false).
		BorderLeft(false).BorderRight(false).BorderHeader(false).BorderColumn(false)
	var titles []string
	for _, title := range header {
		titles = append(titles, t.paint(dim, title))
	}
	body.Headers(titles...).Rows(rows...)
	body.StyleFunc(func(_, column int) lipgloss.Style {
		style := lipgloss.NewStyle().PaddingRight(2)
		if !slices.Contains(left, column) {
			style = style.Align(lipgloss.Right)
		}
		return style
	})
	for line := range strings.Lines(body.Render() + "\n") {
		t.printf("%s%s\n", indent, strings.TrimRight(line, " \n"))
	}
}

func (t *terminal) cell(r *verdict.Result, text string) string {
	switch {
	case r.Row.Role == record.RoleFloor:
		return t.paint(dim, text)
	case text == string(stats.Faster):
		return t.paint(green, text)
	case text == string(stats.Slower):
		return t.paint(red, text)
	}
	return text
}

// control prints below a case what its control says of it.
func (t *terminal) control(c *verdict.CaseResult) { t.printf("  %s\n", controlText(c)) }

// controlText is the line about a case's control.
func controlText(c *verdict.CaseResult) string {
	text := "control: none, since the baseline has no figures"
	if c.Control != nil && c.Control.Ratio != nil {
		text = "control (the baseline again): " + RatioText(c.Control.Ratio)
	}
	return text
}

// RatioText is a ratio with its interval.
func RatioText(c *stats.Comparison) string {
	if math.IsInf(c.HalfWidth, 0) {
		return ratio(c.Ratio) + " (no interval yet)"
	}
	return fmt.Sprintf("%s (%s to %s)", ratio(c.Ratio), ratio(c.Low), ratio(c.High))
}

// column is a column of a table of rows of a kind; the first has their names.
type column[T any] struct {
	title string
	left  bool
	text  func(T) string
}

func columnsOf(c *verdict.CaseResult) []column[*verdict.Result] {
	parts := func(part func(*verdict.Result) *float64) func(*verdict.Result) string {
		return func(r *verdict.Result) string {
			if p := part(r); p != nil {
				return grouped(*p)
			}
			return "n/a"
		}
	}
	ofCost := slices.ContainsFunc(c.Rows, func(r *verdict.Result) bool { return r.CodeOp != nil })
	title := "ns/op"
	if ofCost {
		title = "cost ns/op"
	}
	columns := []column[*verdict.Result]{
		{"", true, name},
		{title, false, func(r *verdict.Result) string { return grouped(r.NSOp.Value) }},
		{"±", false, func(r *verdict.Result) string { return plusMinus(r.NSOp) }},
		{"ratio (95% interval)", false, func(r *verdict.Result) string {
			if r.Ratio == nil {
				return "1"
			}
			return RatioText(r.Ratio)
		}},
		{"verdict", true, func(r *verdict.Result) string {
			switch r.Row.Role {
			case record.RoleFloor:
				return "floor"
			case record.RoleBaseline:
				return "baseline"
			}
			if r.Ratio == nil {
				return ""
			}
			return string(r.Verdict)
		}},
		{"× floor", false, func(r *verdict.Result) string {
			if r.FloorRatio == nil {
				return "n/a"
			}
			return ratio(r.FloorRatio.Value)
		}},
		{"B/op", false, func(r *verdict.Result) string { return words.Integer(*r.BytesOp) }},
		{"allocs/op", false, func(r *verdict.Result) string { return words.Integer(*r.AllocsOp) }},
	}
	if slices.ContainsFunc(c.Rows, func(r *verdict.Result) bool { return r.Tail != nil }) {
		columns = slices.Insert(columns, 4, column[*verdict.Result]{"tail", false, func(r *verdict.Result) string {
			if r.Tail == nil {
				return "n/a"
			}
			return ratio(*r.Tail)
		}})
	}
	if ofCost {
		columns = slices.Insert(columns, 7,
			column[*verdict.Result]{"code", false, parts(func(r *verdict.Result) *float64 { return r.CodeOp })},
			column[*verdict.Result]{"garbage", false, parts(func(r *verdict.Result) *float64 { return r.GarbageOp })})
	}
	if slices.ContainsFunc(c.Rows, func(r *verdict.Result) bool { return r.Wall != nil }) {
		columns = append(columns, column[*verdict.Result]{"wall ns/op", false, func(r *verdict.Result) string {
			if r.Wall == nil {
				return ""
			}
			return grouped(r.WallOp.Value)
		}})
	}
	if slices.ContainsFunc(c.Rows, func(r *verdict.Result) bool { return r.InstructionsOp != nil }) {
		columns = append(columns, column[*verdict.Result]{"instr/op", false, func(r *verdict.Result) string {
			if r.InstructionsOp == nil {
				return "n/a"
			}
			return grouped(r.InstructionsOp.Value) + " " + plusMinus(r.InstructionsOp)
		}})
	}
	units := map[string]bool{}
	for _, r := range c.Rows {
		for unit := range r.Metrics {
			units[unit] = true
		}
	}
	if units[record.EncodedBytes] {
		columns = append(columns,
			column[*verdict.Result]{"encoded bytes", false, metric(record.EncodedBytes)},
			column[*verdict.Result]{"MB/s", false, func(r *verdict.Result) string {
				if speed, ok := megabytesPerSecond(r); ok {
					return grouped(speed)
				}
				return "n/a"
			}})
	}
	if units[record.PackedBytes] {
		columns = append(columns,
			column[*verdict.Result]{"packed bytes", false, metric(record.PackedBytes)},
			column[*verdict.Result]{"pays below Mbit/s", false, func(r *verdict.Result) string { return paysText(c, r) }})
	}
	if units[record.RowsWritten] {
		columns = append(columns, column[*verdict.Result]{"rows/s", false, func(r *verdict.Result) string {
			if speed, ok := rowsPerSecond(r); ok {
				return grouped(speed)
			}
			return "n/a"
		}})
	}
	delete(units, record.EncodedBytes)
	delete(units, record.PackedBytes)
	delete(units, record.RowsWritten)
	if ofCost {
		delete(units, record.ClientCPU) // it is the cost
	}
	// In order of the alphabet, but the maximum behind the percentiles.
	key := func(unit string) string { return strings.Replace(unit, "max-ns", "p~", 1) }
	for _, unit := range slices.SortedFunc(maps.Keys(units), func(a, b string) int { return strings.Compare(key(a), key(b)) }) {
		title := unit
		if unit == record.ClientCPU {
			title = cpuTitle
		}
		columns = append(columns, column[*verdict.Result]{title, false, metric(unit)})
	}
	return columns
}

// cpuTitle is the title of the CPU time of a contender's process. In the order of the alphabet, of
// the figures that only some stages have, it is the first.
const cpuTitle = "cpu ns/op"

// paysText is the bandwidth below which a row of packed messages pays.
func paysText(c *verdict.CaseResult, r *verdict.Result) string {
	below, ok := c.PaysBelow(r)
	switch {
	case !ok && r == c.Baseline:
		return ""
	case !ok:
		return "n/a"
	case below.Value == 0:
		return "never"
	case math.IsInf(r.Ratio.HalfWidth, 0):
		return grouped(below.Value) + " (no interval yet)"
	case math.IsInf(below.Low, 1):
		return "always"
	case math.IsInf(below.High, 1):
		return fmt.Sprintf("at least %s", grouped(below.Low))
	}
	return fmt.Sprintf("%s (%s to %s)", grouped(below.Value), grouped(below.Low), grouped(below.High))
}

func name(r *verdict.Result) string { return r.Row.Contender }

func metric(unit string) func(*verdict.Result) string {
	return func(r *verdict.Result) string {
		value, ok := r.Metrics[unit]
		if !ok {
			return "n/a"
		}
		if value == math.Trunc(value) {
			return words.Integer(int64(value))
		}
		return grouped(value)
	}
}

// WorldText says what process costs are of, "" if none were measured.
func WorldText(rec *record.Record) string {
	switch {
	case rec.Priced != nil:
		return "costs are CPU time, code and garbage, priced for a process with " + rec.Priced.String()
	case rec.Run.World != nil:
		return "costs are CPU time, code and garbage, of a process with " + rec.Run.World.String()
	}
	return ""
}

// footer says what the figures were measured with and what the instrument cost.
func (t *terminal) footer(rec *record.Record) {
	t.printf("%s\n", t.paint(dim, machineText(rec)))
	if world := WorldText(rec); world != "" {
		t.printf("%s\n", t.paint(dim, world))
	}
	if self := selfText(rec); self != "" {
		t.printf("%s\n", t.paint(dim, self))
	}
	if !rec.Run.Complete {
		t.printf("%s %s\n", t.paint(yellow, "partial:"), partialText(rec))
	}
}

func partialText(rec *record.Record) string {
	command := "run"
	for _, row := range rec.Rows {
		switch row.Stage {
		case "bench":
			command = "bench"
		case "calibrate":
			command = "doctor --calibrate"
		}
	}
	return "the run was not completed: `postage " + command + " --resume FILE` continues it"
}

// machineText says what a record was measured with.
func machineText(rec *record.Record) string {
	m := &rec.Machine
	cpu := m.CPU
	if cpu == "" {
		cpu = "unknown processor"
	}
	return fmt.Sprintf("%s, %d cores, %s/%s, %s, GOMAXPROCS %d, seed %d, %s rounds a block",
		cpu, m.Cores, m.GOOS, m.GOARCH, m.Go, rec.Run.GOMAXPROCS, rec.Run.Seed, roundsText(rec))
}

// roundsText is how many rounds the blocks have: fewer in those of a time when a run was short of
// it.
func roundsText(rec *record.Record) string {
	fewest, most := rec.Run.Rounds, rec.Run.Rounds
	for i := range rec.Blocks {
		for j := range rec.Blocks[i].Series {
			rounds := len(rec.Blocks[i].Series[j].WallNS)
			fewest, most = min(fewest, rounds), max(most, rounds)
		}
	}
	if fewest == most {
		return strconv.Itoa(most)
	}
	return fmt.Sprintf("%d to %d", fewest, most)
}

// selfText says what the instrument cost, "" where that was not measured.
func selfText(rec *record.Record) string {
	self := rec.Run.Self
	if self == nil {
		return ""
	}
	memory := "n/a"
	if self.PeakBytes > 0 {
		memory = fmt.Sprintf("%d MB", (self.PeakBytes+500_000)/1_000_000)
	}
	text := fmt.Sprintf("instrument: %.0f%% of %v was inside timed batches", 100*self.Duty, rec.Run.Elapsed.Round(100*time.Millisecond))
	if len(self.Spent) > 0 {
		between := self.Spent["rounds"].Seconds() - self.Duty*rec.Run.Elapsed.Seconds()
		rest := rec.Run.Elapsed.Seconds() - self.Spent["rounds"].Seconds()
		text += fmt.Sprintf(", %.1f s between them", between)
		for _, on := range slices.Sorted(maps.Keys(self.Spent)) {
			if on != "rounds" {
				text += fmt.Sprintf(", %.1f s %s", self.Spent[on].Seconds(), on)
				rest -= self.Spent[on].Seconds()
			}
		}
		text += fmt.Sprintf(", %.1f s unaccounted for", math.Abs(math.Round(10*rest)/10))
	}
	return fmt.Sprintf("%s; its overhead is %.2f ns an operation; the conductor's peak memory %s", text, math.Round(self.OverheadNS*100)/100+0, memory)
}
