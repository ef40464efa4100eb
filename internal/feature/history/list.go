package history

import (
	"fmt"
	"io"
	"slices"

	"postage/internal/kit/report"
)

// PrintList writes the records of a history.
func PrintList(w io.Writer, entries []Entry, form report.Form) error {
	if form.JSON {
		return listJSON(w, entries)
	}
	d := &report.Doc{Form: form}
	var machines []string
	for _, e := range entries {
		if !slices.Contains(machines, e.Machine) {
			machines = append(machines, e.Machine)
		}
	}
	report.Table(d, []report.Column[Entry]{
		report.Texts("started (UTC)", func(e Entry) string { return startedText(&Point{Started: e.Started}) }),
		report.Texts("commit", func(e Entry) string { return commitText(e.Commit) }),
		report.Texts("machine", func(e Entry) string { return machineLetter(slices.Index(machines, e.Machine)) }),
		report.Figures("cases", func(e Entry) string { return fmt.Sprint(e.Cases) }).When(report.IfRoom),
		report.Figures("rows", func(e Entry) string { return fmt.Sprint(e.Figures) }),
		report.Figures("blocks", func(e Entry) string { return fmt.Sprint(e.Blocks) }),
		report.Texts("name", func(e Entry) string {
			if e.Partial {
				return e.Name + " partial"
			}
			return e.Name
		}),
	}, entries, nil)
	d.Printf("\n")
	for i, machine := range machines {
		d.Note("machine " + machineLetter(i) + ": " + machine)
	}
	return d.Print(w)
}

// machineLetter is a short name for a machine: A, B … Z, AA.
func machineLetter(i int) string {
	letters := ""
	for i++; i > 0; i = (i - 1) / 26 {
		letters = string(rune('A'+(i-1)%26)) + letters
	}
	return letters
}
