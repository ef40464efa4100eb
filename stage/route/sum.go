package route

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"postage/internal/stats"
	"postage/internal/verdict"
	"postage/record"
)

// A share is a value with its 95% interval over the blocks.
type share struct{ stats.Shift }

// percent prints a share of 1: "9% (8 to 10)".
func (s share) percent() string {
	if math.IsInf(s.Low, 0) || math.IsNaN(s.Low) {
		return fmt.Sprintf("about %.0f%%", 100*s.Value)
	}
	return fmt.Sprintf("%.1f%% (%.1f to %.1f)", 100*s.Value, 100*s.Low, 100*s.High)
}

// cpu is the mean CPU time in ns of an operation over a row's batches in a block: of the client, of
// the server and of the database's processes for its connection. ok is false where it is not known.
func cpu(block *record.Block, row *record.Row) (ns float64, ok bool) {
	if row == nil || !row.OK() {
		return 0, false
	}
	s := block.Of(row.Name)
	if s == nil || len(s.CPUNS) == 0 {
		return 0, false
	}
	for _, t := range s.CPUNS {
		ns += float64(t)
	}
	for _, unit := range []string{record.ServerCPU, databaseCPU} {
		for _, t := range s.Counters[unit] {
			ns += t
		}
	}
	return ns / float64(len(s.CPUNS)*row.N), true
}

// A sum is what a case's blocks say of a way and of its parts.
type sum struct {
	blocks []*record.Block
	rows   map[string]*record.Row // by contender
}

func newSum(rec *record.Record, name string) *sum {
	s := &sum{rows: map[string]*record.Row{}}
	for i := range rec.Rows {
		if rec.Rows[i].Case == name {
			s.rows[rec.Rows[i].Contender] = &rec.Rows[i]
		}
	}
	for i := range rec.Blocks {
		if rec.Blocks[i].Case == name {
			s.blocks = append(s.blocks, &rec.Blocks[i])
		}
	}
	return s
}

// over is a figure over the blocks, each of which gives one from the CPU time of rows. ok is false
// where a block does not have all of the rows, or where there is no block.
func (s *sum) over(rows []string, of func(ns []float64) float64) (_ share, ok bool) {
	var values []float64
	for _, block := range s.blocks {
		var ns []float64
		for _, name := range rows {
			if t, known := cpu(block, s.rows[name]); known {
				ns = append(ns, t)
			}
		}
		if len(ns) == len(rows) {
			values = append(values, of(ns))
		}
	}
	if len(values) == 0 {
		return share{}, false
	}
	return share{stats.Paired(values, 0.05)}, true
}

func total(ns []float64) (sum float64) {
	for _, t := range ns {
		sum += t
	}
	return sum
}

// parts are the rows of a way's parts.
func (w way) parts() (rows []string) {
	for _, s := range w.steps() {
		rows = append(rows, w.part(s))
	}
	return rows
}

// says is what a run says of a case first: where the baseline's CPU time goes, and then, for each
// row, what it saves in the whole, and what its parts alone foretell.
func says(rec *record.Record, c *verdict.CaseResult) []string {
	s, base := newSum(rec, c.Name), usualOf(c.Name)
	first, ok := s.shares(c, base)
	if !ok {
		return nil
	}
	lines := []string{first}
	for _, change := range changes(messages(c.Name)) {
		if line, ok := s.saving(base, change); ok {
			lines = append(lines, line)
		}
	}
	return lines
}

// shares says what parts the baseline's CPU time has.
func (s *sum) shares(c *verdict.CaseResult, base way) (string, bool) {
	all, ok := s.over([]string{base.name()}, total)
	if !ok {
		return "", false
	}
	type one struct {
		step step
		share
	}
	var parts []one
	for _, step := range base.steps() {
		of, ok := s.over([]string{base.part(step), base.name()}, func(ns []float64) float64 { return ns[0] / ns[1] })
		if !ok {
			return "", false
		}
		parts = append(parts, one{step, of})
	}
	slices.SortFunc(parts, func(a, b one) int { return int(1e6 * (b.Value - a.Value)) })
	rest, _ := s.over(append([]string{base.name()}, base.parts()...), func(ns []float64) float64 { return 1 - total(ns[1:])/ns[0] })
	text := "An order's way costs "
	if n := messages(c.Name); n > 1 {
		text = fmt.Sprintf("The way of %d orders costs ", n)
	}
	text += fmt.Sprintf("%.0f µs of CPU at both ends:", all.Value/1e3)
	for _, p := range parts {
		text += fmt.Sprintf(" %s %.0f%%,", p.step, 100*p.Value)
	}
	return text + " and " + rest.percent() + " that is in no part alone.", true
}

// saving says what a row saves of the baseline in the whole, and by its parts.
func (s *sum) saving(base, change way) (string, bool) {
	whole, ok := s.over([]string{base.name(), change.name()}, func(ns []float64) float64 { return 1 - ns[1]/ns[0] })
	if !ok {
		return "", false
	}
	text := change.name() + " saves " + whole.percent()
	if whole.Value < 0 {
		text = change.name() + " costs " + share{stats.Shift{Value: -whole.Value, Low: -whole.High, High: -whole.Low}}.percent() + " more"
	}
	now := change.in(base)
	before, after := base.parts(), now.parts()
	parts, ok := s.over(slices.Concat([]string{base.name()}, before, after), func(ns []float64) float64 {
		return (total(ns[1:1+len(before)]) - total(ns[1+len(before):])) / ns[0]
	})
	switch {
	case !ok:
		return text + ".", true
	case parts.Value < 0:
		return text + fmt.Sprintf("; its parts alone foretell %.1f%% more.", -100*parts.Value), true
	}
	return text + fmt.Sprintf("; its parts alone foretell %.1f%%.", 100*parts.Value), true
}

// messages is how many orders an operation of a case has.
func messages(name string) int {
	if strings.Contains(name+"/", "/msgs=1/") {
		return 1
	}
	return 100
}
