package report

import (
	"fmt"
	"io"
	"math"
	"strings"
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

var movedColumns = []column[MovedFunction]{
	{"function", true, func(m MovedFunction) string { return m.Function }},
	{"old ns/op", false, func(m MovedFunction) string { return grouped(m.Old) }},
	{"new ns/op", false, func(m MovedFunction) string { return grouped(m.New) }},
	{"moved (95% interval)", false, func(m MovedFunction) string {
		return fmt.Sprintf("%s%s ±%s", map[bool]string{true: "+", false: "-"}[m.Move >= 0], grouped(math.Abs(m.Move)), grouped(m.HalfWidth))
	}},
}

func (p *BenchProfile) heading() string {
	return fmt.Sprintf("%s: the functions whose CPU time an operation moved most, in %d samples of the old code and %d of the new",
		benchmarkName(p.Case), p.OldSamples, p.NewSamples)
}

func (p *BenchProfile) command() string {
	return fmt.Sprintf("go tool pprof -diff_base %s %s", p.Old, p.New)
}

// BenchProfileTerminal writes a profile for a terminal.
func BenchProfileTerminal(w io.Writer, p *BenchProfile, color bool) error {
	t := &terminal{color: color}
	t.printf("\n%s\n", p.heading())
	printTable(t, "", movedColumns, p.Moved, func(_ MovedFunction, text string) string { return text })
	t.printf("%s\n", p.command())
	_, err := io.WriteString(w, t.b.String())
	return err
}

// BenchProfileMarkdown writes a profile as Markdown for GitHub.
func BenchProfileMarkdown(w io.Writer, p *BenchProfile) error {
	var s strings.Builder
	fmt.Fprintf(&s, "\n<details><summary>%s</summary>\n\n", plain(p.heading()))
	markdownRows(&s, movedColumns, p.Moved)
	fmt.Fprintf(&s, "%s\n\n</details>\n", code(p.command()))
	_, err := io.WriteString(w, s.String())
	return err
}
