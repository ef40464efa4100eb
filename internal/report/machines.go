package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"postage/internal/stats"
	"postage/internal/verdict"
	"postage/internal/words"
	"postage/record"
)

// machinesMethod says how machines are compared.
const machinesMethod = "ratios to the baseline on the same machine, each with the 95% interval of its own run; no interval holds figures of two machines. " +
	"Apart: the factor between the two intervals that are farthest apart. Two runs on one machine can be apart too, rarely by more than 5% (docs/method.md)"

// MachinesTerminal writes a comparison of machines as tables for a person, one a case.
func MachinesTerminal(w io.Writer, m *verdict.Machines, color bool) error {
	t := &terminal{color: color}
	t.printf("%s\n\n", t.paint(bold, machinesHeadline(m)))
	machinesCases(m, func(name string, rows []*verdict.MachinesRow) {
		t.printf("%s\n", t.paint(bold, name))
		printTable(t, "  ", machinesColumns(m), rows, func(r *verdict.MachinesRow, text string) string {
			switch {
			case r.Row.Role == record.RoleFloor:
				return t.paint(dim, text)
			case strings.Contains(text, "×: "):
				return t.paint(yellow, text)
			}
			return text
		})
		for _, line := range without(m, rows) {
			t.printf("  %s\n", t.paint(red, line))
		}
		t.printf("\n")
	})
	for i, rec := range m.Records {
		t.printf("%s: %s\n", m.Names[i], rec.Machine.Identity())
	}
	for _, warning := range m.Warnings {
		t.printf("%s %s\n", t.paint(yellow, "warning:"), warning)
	}
	t.printf("%s\n", t.paint(dim, machinesMethod))
	_, err := io.WriteString(w, t.b.String())
	return err
}

// MachinesMarkdown writes a comparison of machines as GitHub renders it.
func MachinesMarkdown(w io.Writer, m *verdict.Machines) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n", plain(machinesHeadline(m)))
	machinesCases(m, func(name string, rows []*verdict.MachinesRow) {
		fmt.Fprintf(&b, "%s\n\n", code(name))
		markdownRows(&b, machinesColumns(m), rows)
		for _, line := range without(m, rows) {
			fmt.Fprintf(&b, "- %s\n", plain(line))
		}
	})
	for i, rec := range m.Records {
		fmt.Fprintf(&b, "- %s: %s\n", plain(m.Names[i]), plain(rec.Machine.Identity()))
	}
	b.WriteByte('\n')
	for _, warning := range m.Warnings {
		fmt.Fprintf(&b, "> **warning:** %s\n>\n", plain(warning))
	}
	fmt.Fprintf(&b, "> %s\n", plain(machinesMethod))
	_, err := io.WriteString(w, b.String())
	return err
}

// machinesHeadline is the comparison in a sentence. Floors are not counted.
func machinesHeadline(m *verdict.Machines) string {
	rows, apart, opposed, open := 0, 0, 0, 0
	for i := range m.Rows {
		r := &m.Rows[i]
		if r.Row.Role != record.RoleContender {
			continue
		}
		rows++
		if r.Apart > 1 {
			apart++
		}
		if r.Opposed {
			opposed++
		}
		if slices.ContainsFunc(r.Results, func(r *verdict.Result) bool { return r == nil || r.Ratio == nil || math.IsInf(r.Ratio.HalfWidth, 0) }) {
			open++
		}
	}
	text := fmt.Sprintf("%s on %s: the ratios of %d differ beyond their intervals", words.Counted(rows, "row"), words.Counted(len(m.Names), "machine"), apart)
	if opposed > 0 {
		text += fmt.Sprintf("; %d faster than the baseline on one machine and slower on another", opposed)
	}
	if open > 0 {
		text += fmt.Sprintf("; %d without an interval on some machine", open)
	}
	return text
}

// machinesCases goes through the rows case by case.
func machinesCases(m *verdict.Machines, each func(name string, rows []*verdict.MachinesRow)) {
	var rows []*verdict.MachinesRow
	for i := range m.Rows {
		rows = append(rows, &m.Rows[i])
		if i+1 == len(m.Rows) || m.Rows[i+1].Row.Case != m.Rows[i].Row.Case {
			each(m.Rows[i].Row.Case, rows)
			rows = nil
		}
	}
}

func machinesColumns(m *verdict.Machines) []column[*verdict.MachinesRow] {
	columns := []column[*verdict.MachinesRow]{{"", true, func(r *verdict.MachinesRow) string { return r.Row.Contender }}}
	for i, name := range m.Names {
		columns = append(columns, column[*verdict.MachinesRow]{name, false, func(r *verdict.MachinesRow) string { return onMachine(r.Results[i]) }})
	}
	return append(columns, column[*verdict.MachinesRow]{"apart", true, func(r *verdict.MachinesRow) string { return apartText(m, r) }})
}

// onMachine is what one record says of a row: a ratio; of the baseline its own time.
func onMachine(r *verdict.Result) string {
	switch {
	case r == nil:
		return "not measured"
	case r.NSOp == nil:
		kind, _, _ := strings.Cut(r.Reason(), ":")
		return kind
	case r.Row.Role == record.RoleBaseline:
		return grouped(r.NSOp.Value) + " ns/op"
	case r.Ratio == nil:
		return "no baseline"
	}
	return RatioText(r.Ratio)
}

// without says why rows have no figures on a machine.
func without(m *verdict.Machines, rows []*verdict.MachinesRow) []string {
	var lines []string
	for _, r := range rows {
		for i, result := range r.Results {
			if result != nil && result.NSOp == nil {
				lines = append(lines, fmt.Sprintf("%s on %s: %s", r.Row.Contender, m.Names[i], result.Reason()))
			}
		}
	}
	return lines
}

// apartText says by how much the intervals of a row's ratios are apart.
func apartText(m *verdict.Machines, r *verdict.MachinesRow) string {
	if r.Row.Role == record.RoleBaseline {
		return "baseline"
	}
	if r.Opposed {
		return fmt.Sprintf("%s×: %s on %s, %s on %s", ratio(r.Apart), stats.Faster, on(m, r, stats.Faster), stats.Slower, on(m, r, stats.Slower))
	}
	if r.Apart > 1 {
		return ratio(r.Apart) + "×"
	}
	return ""
}

// on names the machines on which the row has a verdict.
func on(m *verdict.Machines, r *verdict.MachinesRow, v stats.Verdict) string {
	var names []string
	for i, result := range r.Results {
		if result != nil && result.Ratio != nil && result.Verdict == v {
			names = append(names, m.Names[i])
		}
	}
	return strings.Join(names, ", ")
}

// The JSON form of a comparison of machines, version 1: a stable interface.
type (
	jsonSideBySide struct {
		Version  int             `json:"version"`
		Machines []jsonNamed     `json:"machines"`
		Rows     []jsonAcrossRow `json:"rows"`
		Warnings []string        `json:"warnings"`
	}
	jsonNamed struct {
		Name    string      `json:"name"`
		Machine jsonMachine `json:"machine"`
	}
	jsonAcrossRow struct {
		Name      string          `json:"name"`
		Case      string          `json:"case"`
		Contender string          `json:"contender"`
		Role      record.Role     `json:"role"`
		Apart     float64         `json:"apart"`
		Opposed   bool            `json:"opposed"`
		On        []jsonOnMachine `json:"on"`
	}
	jsonOnMachine struct {
		Machine string         `json:"machine"`
		Proof   *string        `json:"proof"`
		Blocks  int            `json:"blocks"`
		Ratio   *jsonRatio     `json:"ratio"`
		Verdict *stats.Verdict `json:"verdict"`
		NSOp    *jsonValue     `json:"ns_op"`
	}
)

// MachinesJSON writes a comparison of machines in its JSON form.
func MachinesJSON(w io.Writer, m *verdict.Machines) error {
	out := jsonSideBySide{Version: 1, Machines: []jsonNamed{}, Rows: []jsonAcrossRow{}, Warnings: orEmpty(m.Warnings)}
	for i, rec := range m.Records {
		out.Machines = append(out.Machines, jsonNamed{m.Names[i], newJSONMachine(&rec.Machine)})
	}
	for i := range m.Rows {
		r := &m.Rows[i]
		row := jsonAcrossRow{Name: r.Row.Name, Case: r.Row.Case, Contender: r.Row.Contender, Role: r.Row.Role, Apart: r.Apart, Opposed: r.Opposed}
		for j, result := range r.Results {
			on := jsonOnMachine{Machine: m.Names[j]}
			if result != nil {
				proof := string(result.Row.Proof)
				on.Proof, on.Blocks, on.NSOp = &proof, result.Blocks, newJSONValue(result.NSOp)
				on.Ratio, on.Verdict = newJSONRatio(result.Ratio, r.Baselines[j]), known(result.Verdict)
			}
			row.On = append(row.On, on)
		}
		out.Rows = append(out.Rows, row)
	}
	return writeJSON(w, out)
}
