package report

import (
	"fmt"
	"io"
	"slices"
	"time"

	"postage/internal/history/trend"
)

// HistoryTerminal writes the records of a history as a table for a person.
func HistoryTerminal(w io.Writer, entries []trend.Entry, color bool) error {
	t := &terminal{color: color}
	var machines []string
	rows := [][]string{}
	for _, e := range entries {
		if !slices.Contains(machines, e.Machine) {
			machines = append(machines, e.Machine)
		}
		started, partial := "n/a", ""
		if !e.Started.IsZero() {
			started = e.Started.UTC().Format(time.DateTime)
		}
		if e.Partial {
			partial = "partial"
		}
		rows = append(rows, []string{fmt.Sprint(e.Record), started, commitText(e.Commit), machineLetter(slices.Index(machines, e.Machine)), fmt.Sprint(e.Cases), fmt.Sprint(e.Figures), fmt.Sprint(e.Blocks), e.Name, partial})
	}
	t.grid("", []string{"record", "started (UTC)", "commit", "machine", "cases", "rows", "blocks", "name", ""}, rows, 1, 2, 3, 7, 8)
	t.printf("\n")
	for i, machine := range machines {
		t.printf("%s\n", t.paint(dim, "machine "+machineLetter(i)+": "+machine))
	}
	_, err := io.WriteString(w, t.b.String())
	return err
}

// machineLetter is a short name for a machine: A, B … Z, AA.
func machineLetter(i int) string {
	letters := ""
	for i++; i > 0; i = (i - 1) / 26 {
		letters = string(rune('A'+(i-1)%26)) + letters
	}
	return letters
}
