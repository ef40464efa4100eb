package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"postage/record"
)

// Machines is what records of several machines say of the same rows. Machines are compared by
// ratios alone: a row's to its case's baseline, which took turns with it on the same machine. No
// interval holds figures of two machines.
type Machines struct {
	Names   []string // of the machines, or of the records
	Records []*record.Record
	// Rows are those that some record has figures of, but for controls; baselines come first in
	// their case.
	Rows     []*MachinesRow
	Warnings []string
}

// MachinesRow is what the records say of one row.
type MachinesRow struct {
	Row     *record.Row // of the first record that has it
	Results []*Result   // of each record, nil where it does not have the row
	// Baselines are the contenders that the ratios are to. Where they differ, ratios are not
	// compared.
	Baselines []string
	// Apart is the factor between the two intervals that are farthest apart, 1 if all overlap.
	Apart float64 `json:"apart"`
	// Opposed says that the row is faster than the baseline on one machine, and slower on another.
	Opposed bool `json:"opposed"`
}

// CompareMachines compares what records say of the rows that they have in common.
func CompareMachines(names []string, records []*record.Record) *Machines {
	m := &Machines{Names: names, Records: records}
	rows := map[string]*MachinesRow{}
	for i, rec := range records {
		a := Analyze(rec)
		for _, w := range a.Warnings {
			m.Warnings = append(m.Warnings, names[i]+": "+w)
		}
		for _, c := range a.Cases {
			for _, r := range c.Rows {
				if r.Row.Role == record.RoleControl || r.Row.OldOf != "" {
					continue
				}
				row := rows[r.Row.Name]
				if row == nil {
					row = &MachinesRow{Row: r.Row, Results: make([]*Result, len(records)), Baselines: make([]string, len(records))}
					rows[r.Row.Name], m.Rows = row, append(m.Rows, row)
				}
				row.Results[i] = r
				if c.Baseline != nil {
					row.Baselines[i] = c.Baseline.Row.Contender
				}
			}
		}
	}
	m.Rows = slices.DeleteFunc(m.Rows, func(r *MachinesRow) bool {
		return !slices.ContainsFunc(r.Results, func(r *Result) bool { return r != nil && r.NSOp != nil })
	})
	var cases []string
	for _, r := range m.Rows {
		cases = append(cases, r.Row.Case)
	}
	first := map[record.Role]int{record.RoleBaseline: -1}
	slices.SortStableFunc(m.Rows, func(a, b *MachinesRow) int {
		return cmp.Or(slices.Index(cases, a.Row.Case)-slices.Index(cases, b.Row.Case), first[a.Row.Role]-first[b.Row.Role])
	})
	for _, r := range m.Rows {
		r.judge()
	}
	m.doubts()
	return m
}

// judge finds how far the row's ratios are apart.
func (r *MachinesRow) judge() {
	r.Apart = 1
	if r.mixed() {
		return
	}
	low, high := 0.0, math.Inf(1) // the highest lower bound, and the lowest upper one
	verdicts := map[Verdict]bool{}
	for _, result := range r.Results {
		if result != nil && result.Ratio != nil {
			low, high = max(low, result.Ratio.Low), min(high, result.Ratio.High)
			verdicts[result.Verdict] = true
		}
	}
	if low > high {
		r.Apart = low / high
	}
	r.Opposed = verdicts[Faster] && verdicts[Slower]
}

// mixed says that the ratios are not to the same contender.
func (r *MachinesRow) mixed() bool {
	named := slices.DeleteFunc(slices.Clone(r.Baselines), func(name string) bool { return name == "" })
	return len(slices.Compact(named)) > 1
}

// doubts warns of records that differ in more than the machine.
func (m *Machines) doubts() {
	mixed := map[string]bool{} // cases
	for _, r := range m.Rows {
		if r.mixed() && !mixed[r.Row.Case] {
			mixed[r.Row.Case] = true
			m.Warnings = append(m.Warnings, fmt.Sprintf("%s: its baseline is not the same everywhere (%s): its ratios are not compared", r.Row.Case, strings.Join(r.Baselines, ", ")))
		}
	}
	first := m.Records[0]
	for i, rec := range m.Records[1:] {
		name := m.Names[i+1]
		for _, text := range differences(first, rec, m.Names[0], name) {
			m.Warnings = append(m.Warnings, text+": ratios may differ for that reason")
		}
		if first.Machine.GOARCH == rec.Machine.GOARCH && first.Run.Program != rec.Run.Program {
			m.Warnings = append(m.Warnings, fmt.Sprintf("%s and %s were measured with different programs: ratios may differ for that reason", m.Names[0], name))
		}
	}
}
