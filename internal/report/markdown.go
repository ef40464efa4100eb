package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"postage/internal/verdict"
	"postage/internal/words"
	"postage/record"
)

// Markdown writes the record as GitHub renders it: who won, then a heading and a table a
// case, no HTML. Stages say what their figures mean.
func Markdown(w io.Writer, rec *record.Record, stages []verdict.Stage) error {
	var b strings.Builder
	a := verdict.Analyze(rec)
	fmt.Fprintf(&b, "%s%s.\n\n", commandText(rec, stages), plain(machineText(rec)))
	if busy := busyText(rec); busy != "" {
		fmt.Fprintf(&b, "**%s**\n\n", plain(busy))
	}
	lines := sentences(a, rec, stages)
	for _, line := range lines {
		fmt.Fprintf(&b, "- %s\n", plain(line))
	}
	if len(lines) > 0 {
		b.WriteByte('\n')
	}
	if lines := sight(a, rec); len(lines) > 0 {
		fmt.Fprintf(&b, "%s\n\n", plain(strings.Join(lines, " ")))
	}
	fmt.Fprintf(&b, "%s\n\n", legend)
	for i := range a.Cases {
		markdownCase(&b, &a.Cases[i])
	}
	for _, warning := range a.Warnings {
		fmt.Fprintf(&b, "> **warning:** %s\n>\n", plain(warning))
	}
	if self := selfText(rec); self != "" {
		fmt.Fprintf(&b, "> %s\n", plain(self))
	}
	if !rec.Run.Complete {
		fmt.Fprintf(&b, ">\n> **partial:** %s\n", partialText(rec))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// legend says what the columns are that their titles do not explain.
const legend = "**ratio**: the cost as a multiple of the baseline's, with its 95% interval: CPU time, or wall time where a server answers. " +
	"**±**: half the width of the 95% interval of the cost. **code** and **garbage**: its two parts. **tail**: the mean CPU time of all batches, divided by the cost. " +
	"**× floor**: the time as a multiple of the floor's, which does the least work possible."

// widest is how many columns a table may have: more are a second table below it.
const widest = 13

// commandText is the command that makes the record again, with the date and the commit that it was
// measured at; "" of what `postage run` did not measure.
func commandText(rec *record.Record, stages []verdict.Stage) string {
	if len(rec.Rows) == 0 || !slices.ContainsFunc(stages, func(s verdict.Stage) bool { return s.Name == rec.Rows[0].Stage }) {
		return ""
	}
	command := "postage run"
	for _, pattern := range rec.Run.Patterns {
		command += " '" + pattern + "'"
	}
	text := fmt.Sprintf("Measured by %s", code(fmt.Sprintf("%s --budget %v --precision %g%% --seed %d", command, rec.Run.Budget, 100*rec.Run.Precision, rec.Run.Seed)))
	if !rec.Run.Started.IsZero() {
		text += ", " + rec.Run.Started.UTC().Format("2 January 2006")
	}
	if rec.Run.Commit != "" {
		text += fmt.Sprintf(", commit %.12s", rec.Run.Commit)
	}
	return text + ". "
}

func markdownCase(b *strings.Builder, c *verdict.CaseResult) {
	fmt.Fprintf(b, "### %s\n\n", code(c.Name))
	if why := c.Unmeasured(); why != "" {
		fmt.Fprintf(b, "None of its %s: %s\n\n", words.Counted(len(c.Rows), "row"), plain(why))
		return
	}
	with, without := split(c)
	columns := columnsOf(c)
	columns[0].title = "contender"
	var more []column[*verdict.Result]
	if i := slices.IndexFunc(columns, func(c column[*verdict.Result]) bool { return c.title == cpuTitle }); i >= 0 && len(columns) > widest {
		more = append(slices.Clone(columns[:1]), columns[i+1:]...)
		columns = columns[:i+1]
	}
	markdownRows(b, columns, with)
	if len(more) > 0 {
		markdownRows(b, more, with)
	}
	for _, r := range without {
		fmt.Fprintf(b, "- %s: %s\n", code(r.Row.Contender), plain(r.Reason()))
	}
	if len(without) > 0 {
		b.WriteByte('\n')
	}
	baseline := "none"
	if c.Baseline != nil {
		baseline = code(c.Baseline.Row.Contender)
	}
	fmt.Fprintf(b, "%s, compared with %s; %s\n\n", words.Counted(c.Blocks, "block"), baseline, plain(controlText(c)))
}

// markdownRows writes a table of rows, nothing if there are none.
func markdownRows[T any](b *strings.Builder, columns []column[T], rows []T) {
	if len(rows) == 0 {
		return
	}
	table := markdownTable{}
	for _, column := range columns {
		table.column(column.title, column.left)
	}
	for _, row := range rows {
		cells := []string{code(columns[0].text(row))}
		for _, column := range columns[1:] {
			cells = append(cells, plain(column.text(row)))
		}
		table.row(cells...)
	}
	table.write(b)
}

// markdownTable is a table as GitHub has them.
type markdownTable struct {
	titles, rules []string
	rows          [][]string
}

// column adds a column, whose cells stand to the left or, as figures do, to the right.
func (t *markdownTable) column(title string, left bool) {
	rule := "---:"
	if left {
		rule = "---"
	}
	t.titles, t.rules = append(t.titles, title), append(t.rules, rule)
}

func (t *markdownTable) row(cells ...string) { t.rows = append(t.rows, cells) }

func (t *markdownTable) write(b *strings.Builder) {
	for _, cells := range append([][]string{t.titles, t.rules}, t.rows...) {
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	b.WriteByte('\n')
}

// plain makes text that Markdown would take for markup stand as it is.
func plain(s string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", `\<`, "*", `\*`, "_", `\_`, "[", `\[`, "`", "\\`", "\n", " ").Replace(s)
}

// code shows a name as it is, in the type of code; a table's cell cannot hold a bare "|".
func code(s string) string {
	return "`" + strings.NewReplacer("`", "'", "|", `\|`, "\n", " ").Replace(s) + "`"
}
