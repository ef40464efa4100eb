package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"postage/cost"
	"postage/record"
	"postage/verdict"
)

// MillionsTerminal prints what a million messages cost, encoded and decoded, by each contender,
// beside what they cost now, and in a sentence what that comes to.
func MillionsTerminal(w io.Writer, rec *record.Record, stages []verdict.Stage, now string) error {
	var cases []cost.Case
	for _, c := range verdict.Analyze(rec).Cases {
		cases = append(cases, cost.Case{CaseResult: &c, Record: rec})
	}
	all := cost.Millions(stages, cases)
	for _, message := range slices.Sorted(maps.Keys(all)) {
		list := all[message]
		fmt.Fprintf(w, "\nPer million messages %s, encode and decode, with a CPU hour at $%.2f and a GB sent at $%.2f:\n", message, cost.DefaultCPUHour, cost.DefaultGB)
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprint(table, "  contender\tCPU\tallocated\tsent\tcost\t\n")
		for _, m := range list {
			mark := ""
			if m.Contender == now {
				mark = "now"
			}
			fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\t%s\n", m.Contender, cpuSeconds(m.CPUSeconds), gigabytes(m.Allocated), gigabytes(m.Wire), money(m.USD), mark)
		}
		if err := table.Flush(); err != nil {
			return err
		}
		if text := answer(list, now); text != "" {
			fmt.Fprintln(w, text)
		}
	}
	return nil
}

// answer is what the cheapest ways save, in a sentence each: in money, and in CPU time where that
// is another.
func answer(list []cost.Million, now string) string {
	at := slices.IndexFunc(list, func(m cost.Million) bool { return m.Contender == now })
	if at < 0 {
		return ""
	}
	was := list[at]
	saves := func(m cost.Million) string {
		return fmt.Sprintf("%s in place of %s saves %s of CPU time, %s sent, and %s a million messages.", m.Contender, was.Contender, cpuSeconds(was.CPUSeconds-m.CPUSeconds), gigabytes(was.Wire-m.Wire), money(was.USD-m.USD))
	}
	fastest := slices.MinFunc(list, func(a, b cost.Million) int {
		if a.CPUSeconds < b.CPUSeconds {
			return -1
		}
		return 1
	})
	var text []string
	if list[0].Contender != now {
		text = append(text, saves(list[0]))
	}
	if fastest.Contender != now && fastest.Contender != list[0].Contender {
		text = append(text, "Least CPU time: "+saves(fastest))
	}
	if len(text) == 0 {
		return "Nothing that was measured is cheaper than " + now + "."
	}
	return strings.Join(text, "\n")
}

func cpuSeconds(s float64) string { return fmt.Sprintf("%.3g s", s) }

func gigabytes(bytes float64) string {
	if bytes < 1e7 && bytes > -1e7 {
		return fmt.Sprintf("%.3g MB", bytes/1e6)
	}
	return fmt.Sprintf("%.3g GB", bytes/1e9)
}

func money(usd float64) string {
	if usd < 0 {
		return "-" + money(-usd)
	}
	return fmt.Sprintf("$%.2g", usd)
}
