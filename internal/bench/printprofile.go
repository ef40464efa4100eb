package bench

import (
	"fmt"
	"io"
	"math"

	"postage/internal/report"
)

// BenchProfile says where a benchmark's processes spent their CPU time, in the old code and in the
// new.
type BenchProfile struct {
	Case                   string
	Old, New               string // files of profiles
	OldSamples, NewSamples int64
	Moved                  []MovedFunction // the largest move first
}

// MovedFunction is a function and the CPU time that an operation spends in the function itself.
type MovedFunction struct {
	Function        string
	Old, New        float64 // ns
	Move, HalfWidth float64 // New - Old, with the half-width of its 95% interval
}

// Print writes a profile for a terminal, or as Markdown.
func (p *BenchProfile) Print(w io.Writer, form report.Form) error {
	d := &report.Doc{Form: form}
	columns := []report.Column[MovedFunction]{
		report.Texts("function", func(m MovedFunction) string { return m.Function }),
		report.Figures("old ns/op", func(m MovedFunction) string { return report.Grouped(m.Old) }),
		report.Figures("new ns/op", func(m MovedFunction) string { return report.Grouped(m.New) }),
		report.Figures("moved (95% interval)", func(m MovedFunction) string {
			sign := "+"
			if m.Move < 0 {
				sign = "-"
			}
			return fmt.Sprintf("%s%s ±%s", sign, report.Grouped(math.Abs(m.Move)), report.Grouped(m.HalfWidth))
		}),
	}
	heading := fmt.Sprintf("%s: the functions whose CPU time an operation moved most, in %d samples of the old code and %d of the new",
		benchmarkName(p.Case), p.OldSamples, p.NewSamples)
	d.Folded(heading, func() {
		report.Table(d, columns, p.Moved, nil)
		command := fmt.Sprintf("go tool pprof -diff_base %s %s", p.Old, p.New)
		if d.Markdown {
			command = report.Code(command)
		}
		d.Printf("%s\n", command)
	})
	return d.Print(w)
}
