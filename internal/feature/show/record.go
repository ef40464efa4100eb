// Package show presents records and comparisons: as a table for a terminal, as Markdown, as JSON
// for programs, and as a page for a browser.
//
// What a figure needs to be read right travels with it: its interval, the control's, and the reason
// in place of figures where there is no proof.
package show

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"postage/internal/kit/report"
	"postage/internal/kit/words"
	"postage/internal/verdict"
	"postage/record"
)

// Record writes a record: who won, then a table for each case. Stages say what their figures mean.
func Record(w io.Writer, rec *record.Record, stages []verdict.Stage, form report.Form) error {
	a := verdict.Analyze(rec)
	if form.JSON {
		return recordJSON(w, rec, a)
	}
	d := &report.Doc{Form: form}
	if form.Markdown {
		about := MachineText(rec)
		if world := worldText(rec); world != "" {
			about += "; " + world
		}
		d.Printf("%s%s.\n\n", commandText(rec, stages), report.Escape(about))
	}
	if busy := busyText(rec); busy != "" && form.Markdown {
		d.Printf("**%s**\n\n", report.Escape(busy))
	} else if busy != "" {
		d.Lines(report.Yellow, "", busy, "")
		d.Printf("\n")
	}
	cases := casesOf(a, stages)
	d.Paragraph("", sentences(cases)...)
	writeAnswers(d, cases, sight(a, rec), ran(rec, stages))
	if form.Markdown {
		d.Printf("%s\n\n", legend)
	}
	for _, c := range a.Cases {
		writeCase(d, c)
		d.Printf("\n")
	}
	d.Marked("warning:", a.Warnings...)
	Footer(d, rec)
	return d.Print(w)
}

// legend explains columns that their titles do not explain.
const legend = "**ratio**: the cost as a multiple of the baseline's, with its 95% interval: CPU time, or wall time where a server answers. " +
	"**±**: half the width of the 95% interval of the cost. " +
	"**× floor**: the time as a multiple of the floor's, which does the least work possible."

// commandText is the command that makes the record again, with its date and its commit. It is "" if
// `postage run` did not measure the record.
func commandText(rec *record.Record, stages []verdict.Stage) string {
	if !ran(rec, stages) {
		return ""
	}
	command := "postage run"
	for _, pattern := range rec.Run.Patterns {
		command += " '" + pattern + "'"
	}
	command += fmt.Sprintf(" --budget %v --precision %g%% --seed %d", rec.Run.Budget, 100*rec.Run.Precision, rec.Run.Seed)
	text := "Measured by " + report.Code(command)
	if !rec.Run.Started.IsZero() {
		text += ", " + rec.Run.Started.UTC().Format("2 January 2006")
	}
	if rec.Run.Commit != "" {
		text += fmt.Sprintf(", commit %.12s", rec.Run.Commit)
	}
	return text + ". "
}

// ran reports whether `postage run` measured the record, and can again.
func ran(rec *record.Record, stages []verdict.Stage) bool {
	return len(rec.Rows) > 0 && slices.ContainsFunc(stages, func(s verdict.Stage) bool { return s.Name == rec.Rows[0].Stage })
}

// writeCase writes a case's rows, and how far its control is from 1.
func writeCase(d *report.Doc, c *verdict.CaseResult) {
	if d.Markdown {
		d.Printf("### %s\n\n", report.Code(c.Name))
	} else {
		d.Lines(report.Bold, c.Name, "  "+comparedText(c), "    ")
	}
	if why := c.Unmeasured(); why != "" {
		d.Note(fmt.Sprintf("none of its %s: %s", words.Counted(len(c.Rows), "row"), why))
		for _, r := range c.Rows {
			if r.Row.Proof.Is(record.ProofNotPossible) {
				d.Item(r.Row.Contender, r.Reason())
			}
		}
		return
	}
	measured, missing := split(c)
	columns := columnsOf(c, d.Wide || d.Markdown)
	if len(measured) > 0 {
		report.Table(d, columns, measured, func(r *verdict.Result, text string) string { return paintCell(d, r, text) })
	}
	for _, r := range missing {
		d.Item(r.Row.Contender, r.Reason())
	}
	if d.Markdown {
		if len(missing) > 0 {
			d.Printf("\n")
		}
		d.Printf("%s; %s\n", report.Escape(comparedText(c)), report.Escape(controlText(c)))
		return
	}
	d.Lines(report.Dim, "", controlText(c), "  ")
}

// comparedText says how many blocks a case has, and what its rows are compared with.
func comparedText(c *verdict.CaseResult) string {
	baseline := "none"
	if c.Baseline != nil {
		baseline = c.Baseline.Row.Contender
	}
	return fmt.Sprintf("%s, compared with %s", words.Counted(c.Blocks, "block"), baseline)
}

// split separates the rows with figures from the rows without. A control with figures is in
// neither, since it has a line of its own.
func split(c *verdict.CaseResult) (measured, missing []*verdict.Result) {
	for _, r := range c.Rows {
		switch {
		case r.NSOp == nil:
			missing = append(missing, r)
		case r != c.Control:
			measured = append(measured, r)
		}
	}
	return measured, missing
}

func paintCell(d *report.Doc, r *verdict.Result, text string) string {
	if r.Row.Role == record.RoleFloor {
		return d.Paint(report.Dim, text)
	}
	return Colored(d, text)
}

// Colored paints a verdict or an outcome in its colour. Of figures that are called higher or lower,
// lower is better.
func Colored(d *report.Doc, text string) string {
	switch text {
	case string(verdict.Faster), string(verdict.Lower), string(verdict.Passed):
		return d.Paint(report.Green, text)
	case string(verdict.Slower), string(verdict.Higher), string(verdict.Regressed):
		return d.Paint(report.Red, text)
	case string(verdict.Inconclusive):
		return d.Paint(report.Yellow, text)
	}
	return text
}

func controlText(c *verdict.CaseResult) string {
	if c.Control != nil && c.Control.Ratio != nil {
		return "control (the baseline again): " + report.RatioText(*c.Control.Ratio)
	}
	return "control: none, since the baseline has no figures"
}

// worldText says in which process costs were measured, "" if none were.
func worldText(rec *record.Record) string {
	if rec.Run.World == nil {
		return ""
	}
	return "costs are CPU time of a process with " + rec.Run.World.String()
}

// Footer says what the figures were measured with and what the instrument cost.
func Footer(d *report.Doc, rec *record.Record) {
	if !d.Markdown {
		d.Note(MachineText(rec))
		d.Note(worldText(rec))
	}
	d.Note(selfText(rec))
	if rec.Run.Complete {
		return
	}
	if d.Markdown {
		d.Printf(">\n> **partial:** %s\n", partialText(rec))
		return
	}
	d.Marked("partial:", partialText(rec))
}

func partialText(rec *record.Record) string {
	if len(rec.Rows) > 0 && rec.Rows[0].Stage == "calibrate" { // it begins anew
		return "the run was not completed"
	}
	return "the run was not completed: --resume FILE continues it"
}

// MachineText says what a record was measured with.
func MachineText(rec *record.Record) string {
	m := &rec.Machine
	return fmt.Sprintf("%s, %d cores, %s/%s, %s, GOMAXPROCS %d, seed %d",
		cmp.Or(m.CPU, "unknown processor"), m.Cores, m.GOOS, m.GOARCH, m.Go, rec.Run.GOMAXPROCS, rec.Run.Seed)
}

// selfText says how much of the run was measuring, "" of a run that was not completed.
func selfText(rec *record.Record) string {
	if !rec.Run.Complete {
		return ""
	}
	return fmt.Sprintf("instrument: %.0f%% of %v was inside timed batches", 100*rec.Duty(), rec.Run.Elapsed.Round(100*time.Millisecond))
}
