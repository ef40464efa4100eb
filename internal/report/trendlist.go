package report

import (
	"fmt"
	"io"
	"slices"

	"postage/internal/history/trend"
)

// History writes the records of a history.
func History(w io.Writer, entries []trend.Entry, form Form) error {
	if form.JSON {
		return writeJSON(w, jsonHistory{2, entries})
	}
	d := &doc{Form: form}
	var machines []string
	for _, e := range entries {
		if !slices.Contains(machines, e.Machine) {
			machines = append(machines, e.Machine)
		}
	}
	table(d, []column[trend.Entry]{
		texts("started (UTC)", func(e trend.Entry) string { return startedText(&trend.Point{Started: e.Started}) }),
		texts("commit", func(e trend.Entry) string { return commitText(e.Commit) }),
		texts("machine", func(e trend.Entry) string { return machineLetter(slices.Index(machines, e.Machine)) }),
		figures("cases", func(e trend.Entry) string { return fmt.Sprint(e.Cases) }).when(ifRoom),
		figures("rows", func(e trend.Entry) string { return fmt.Sprint(e.Figures) }),
		figures("blocks", func(e trend.Entry) string { return fmt.Sprint(e.Blocks) }),
		texts("name", func(e trend.Entry) string {
			if e.Partial {
				return e.Name + " partial"
			}
			return e.Name
		}),
	}, entries, nil)
	d.printf("\n")
	for i, machine := range machines {
		d.note("machine " + machineLetter(i) + ": " + machine)
	}
	return d.writeTo(w)
}

// machineLetter is a short name for a machine: A, B … Z, AA.
func machineLetter(i int) string {
	letters := ""
	for i++; i > 0; i = (i - 1) / 26 {
		letters = string(rune('A'+(i-1)%26)) + letters
	}
	return letters
}
