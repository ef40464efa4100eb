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

// machinesMethod says how machines are compared.
const machinesMethod = "ratios to the baseline on the same machine, each with the 95% interval of its own run; no interval holds figures of two machines. " +
	"Apart: the factor between the two intervals that are farthest apart. Two runs on one machine can be apart too, rarely by more than 5% (docs/evidence/method.md)"

// Machines writes a comparison of machines, a table a case.
func Machines(w io.Writer, m *verdict.Machines, form Form) error {
	if form.JSON {
		return machinesJSON(w, m)
	}
	d := &doc{Form: form}
	d.title(machinesHeadline(m))
	if !d.Markdown {
		d.printf("\n")
	}
	for _, rows := range byCase(m.Rows, func(r *verdict.MachinesRow) *record.Row { return r.Row }) {
		d.machinesCase(m, rows)
	}
	for i, rec := range m.Records {
		d.item(m.Names[i], rec.Machine.Identity())
	}
	if d.Markdown {
		d.printf("\n")
	}
	d.marked("warning:", m.Warnings...)
	d.note(machinesMethod)
	return d.writeTo(w)
}

func (d *doc) machinesCase(m *verdict.Machines, rows []*verdict.MachinesRow) {
	abreast := machinesAbreast
	if d.Markdown {
		d.printf("%s\n\n", code(rows[0].Row.Case))
		abreast = len(m.Names)
	} else {
		d.lines(bold, "", rows[0].Row.Case, "  ")
	}
	if d.Wide {
		abreast = len(m.Names)
	}
	for from := 0; from < len(m.Names); from += abreast {
		table(d, machinesColumns(m, from, min(from+abreast, len(m.Names)), d.Markdown || d.Wide), rows, func(r *verdict.MachinesRow, text string) string {
			switch {
			case r.Row.Role == record.RoleFloor:
				return d.paint(dim, text)
			case strings.Contains(text, "×: "), strings.HasSuffix(text, ", opposed"):
				return d.paint(yellow, text)
			}
			return text
		})
	}
	for _, r := range rows {
		if r.Opposed && !d.Markdown && !d.Wide {
			d.item(r.Row.Contender, apartText(m, r))
		}
		for i, result := range r.Results {
			if result != nil && result.NSOp == nil {
				d.item(r.Row.Contender+" on "+m.Names[i], result.Reason())
			}
		}
	}
	if !d.Markdown {
		d.printf("\n")
	}
}

// machinesHeadline is the comparison in a sentence. Floors are not counted.
func machinesHeadline(m *verdict.Machines) string {
	rows, apart, opposed, open := 0, 0, 0, 0
	for _, r := range m.Rows {
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
		if slices.ContainsFunc(r.Results, func(r *verdict.Result) bool { return r == nil || r.Ratio == nil || !r.Ratio.Bounded() }) {
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

// machinesAbreast is for how many machines there is room in 80 columns.
const machinesAbreast = 4

// machinesColumns are those of some machines, numbered, with whole intervals or for 80 columns.
func machinesColumns(m *verdict.Machines, from, to int, whole bool) []column[*verdict.MachinesRow] {
	interval, name, apart := RatioText, func(name string) string { return name }, apartText
	own := func(ns float64) string { return grouped(ns) + " ns/op" }
	if !whole {
		name = func(name string) string { return middle(name, nameLength) }
		apart = func(m *verdict.Machines, r *verdict.MachinesRow) string {
			text, _, opposed := strings.Cut(apartText(m, r), ":")
			if opposed {
				text += ", opposed"
			}
			return text
		}
		interval = func(i verdict.Interval) string { return ratio(i.Value) + " " + plusMinus(&i) }
		own = duration
	}
	columns := []column[*verdict.MachinesRow]{texts("", func(r *verdict.MachinesRow) string { return r.Row.Contender })}
	for i := from; i < to; i++ {
		columns = append(columns, figures(name(m.Names[i]), func(r *verdict.MachinesRow) string { return onMachine(r.Results[i], interval, own) }))
	}
	return append(columns, texts("apart", func(r *verdict.MachinesRow) string { return apart(m, r) }))
}

// onMachine is what one record says of a row: a ratio; of the baseline its own time.
func onMachine(r *verdict.Result, interval func(verdict.Interval) string, own func(ns float64) string) string {
	switch {
	case r == nil:
		return "not measured"
	case r.NSOp == nil:
		kind, _, _ := strings.Cut(r.Reason(), ":")
		return kind
	case r.Row.Role == record.RoleBaseline:
		return own(r.NSOp.Value)
	case r.Ratio == nil:
		return "no baseline"
	}
	return interval(r.Ratio.Interval)
}

// apartText says by how much the intervals of a row's ratios are apart.
func apartText(m *verdict.Machines, r *verdict.MachinesRow) string {
	if r.Row.Role == record.RoleBaseline {
		return "baseline"
	}
	if r.Opposed {
		return fmt.Sprintf("%s×: %s on %s, %s on %s", ratio(r.Apart), verdict.Faster, on(m, r, verdict.Faster), verdict.Slower, on(m, r, verdict.Slower))
	}
	if r.Apart > 1 {
		return ratio(r.Apart) + "×"
	}
	return ""
}

// on names the machines on which the row has a verdict.
func on(m *verdict.Machines, r *verdict.MachinesRow, v verdict.Verdict) string {
	var names []string
	for i, result := range r.Results {
		if result != nil && result.Ratio != nil && result.Verdict == v {
			names = append(names, m.Names[i])
		}
	}
	return strings.Join(names, ", ")
}

// The JSON of a comparison of machines, version 1.
type (
	jsonSideBySide struct {
		Version  int             `json:"version"`
		Machines []jsonNamed     `json:"machines"`
		Rows     []jsonAcrossRow `json:"rows"`
		Warnings []string        `json:"warnings"`
	}
	jsonNamed struct {
		Name    string          `json:"name"`
		Machine *record.Machine `json:"machine"`
	}
	jsonAcrossRow struct {
		Name      string      `json:"name"`
		Case      string      `json:"case"`
		Contender string      `json:"contender"`
		Role      record.Role `json:"role"`
		*verdict.MachinesRow
		On []jsonOnMachine `json:"on"`
	}
	jsonOnMachine struct {
		Machine string              `json:"machine"`
		Proof   record.Proof        `json:"proof,omitempty"`
		Blocks  int                 `json:"blocks"`
		Ratio   *verdict.Comparison `json:"ratio"`
		Verdict verdict.Verdict     `json:"verdict,omitempty"`
		NSOp    *verdict.Interval   `json:"ns_op"`
	}
)

// machinesJSON writes a comparison of machines in its JSON form.
func machinesJSON(w io.Writer, m *verdict.Machines) error {
	out := jsonSideBySide{Version: 1, Warnings: m.Warnings}
	for i, rec := range m.Records {
		out.Machines = append(out.Machines, jsonNamed{m.Names[i], &rec.Machine})
	}
	for _, r := range m.Rows {
		row := jsonAcrossRow{Name: r.Row.Name, Case: r.Row.Case, Contender: r.Row.Contender, Role: r.Row.Role, MachinesRow: r}
		for j, on := range r.Results {
			row.On = append(row.On, jsonOnMachine{Machine: m.Names[j]})
			if on != nil {
				row.On[j] = jsonOnMachine{m.Names[j], on.Row.Proof, on.Blocks, on.Ratio, on.Verdict, on.NSOp}
			}
		}
		out.Rows = append(out.Rows, row)
	}
	return writeJSON(w, out)
}
