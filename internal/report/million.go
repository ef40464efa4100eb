package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"postage/internal/cost"
	"postage/internal/verdict"
)

// A millionView is what a million messages cost, encoded and decoded, by each contender, beside
// what they cost now, and in words what that comes to.
type millionView struct {
	Title  string
	Rows   [][]string // contender, CPU, allocated, sent, cost, traffic, "baseline" or ""
	Answer []string   // sentences
}

// millionColumns are the titles of its columns but the last.
var millionColumns = []string{"contender", "CPU", "allocated", "sent", "cost", "to the internet"}

// millions are of the stages that say so, one a message.
func millions(stages []cost.Stage, cases []*verdict.CaseResult) []millionView {
	stages = slices.DeleteFunc(slices.Clone(stages), func(s cost.Stage) bool { return !s.PerMillion })
	now := map[string]bool{}
	for _, c := range cases {
		if c.Baseline != nil {
			now[c.Baseline.Row.Contender] = true
		}
	}
	all := cost.Millions(stages, cases)
	var views []millionView
	for _, message := range slices.Sorted(maps.Keys(all)) {
		list := all[message]
		view := millionView{Title: fmt.Sprintf("Per million messages %s, encode and decode, with a CPU hour at $%.2f; traffic apart, to the internet at $%.2f a GB", message, cost.DefaultCPUHour, cost.InternetGB)}
		for _, m := range list {
			mark := ""
			if now[m.Contender] {
				mark = "baseline"
				view.Answer = answer(list, m.Contender)
			}
			view.Rows = append(view.Rows, []string{m.Contender, cpuSeconds(m.CPUSeconds), gigabytes(m.Allocated), gigabytes(m.Wire), money(m.USD), money(m.Wire / 1e9 * cost.InternetGB), mark})
		}
		views = append(views, view)
	}
	return views
}

// millions prints them for a person.
func (d *doc) millions(views []millionView) {
	for _, view := range views {
		if len(view.Answer) > 0 {
			d.paragraph("", strings.Join(view.Answer, " "))
		}
		d.title(view.Title)
		var columns []column[[]string]
		for i, title := range append(slices.Clone(millionColumns), "") {
			c := figures(title, func(row []string) string { return row[i] })
			c.left = i == 0 || title == ""
			columns = append(columns, c)
		}
		table(d, columns, view.Rows, nil)
		d.printf("\n")
	}
}

// answer is what the cheapest ways save, in a sentence each: in money, and in CPU time where that
// is another.
func answer(list []cost.Million, now string) []string {
	at := slices.IndexFunc(list, func(m cost.Million) bool { return m.Contender == now })
	if at < 0 {
		return nil
	}
	was := list[at]
	saves := func(m cost.Million) string {
		var less, more []string
		for _, d := range []struct {
			saved float64
			text  func(float64) string
			what  string
		}{
			{was.CPUSeconds - m.CPUSeconds, cpuSeconds, " of CPU time"}, {was.Wire - m.Wire, gigabytes, " sent"}, {was.USD - m.USD, money, ""},
		} {
			if d.saved > 0 {
				less = append(less, d.text(d.saved)+d.what)
			} else if d.saved < 0 {
				more = append(more, d.text(-d.saved)+d.what)
			}
		}
		text := fmt.Sprintf("%s in place of %s saves %s", m.Contender, was.Contender, and(less))
		if len(more) > 0 {
			text += ", but adds " + and(more)
		}
		return text + " a million messages."
	}
	fastest := slices.MinFunc(list, func(a, b cost.Million) int { return cmp.Compare(a.CPUSeconds, b.CPUSeconds) })
	text := []string{fmt.Sprintf("By %s, with which the others are compared, a million messages cost %s.", was.Contender, money(was.USD))}
	if list[0].Contender != now {
		text = append(text, saves(list[0]))
	}
	if fastest.Contender != now && fastest.Contender != list[0].Contender {
		text = append(text, "Least CPU time: "+saves(fastest))
	}
	if len(text) == 1 {
		text = append(text, "Nothing that was measured is cheaper.")
	}
	return text
}

// and lists what there is: "a", "a and b", "a, b, and c".
func and(list []string) string {
	if len(list) < 3 {
		return strings.Join(list, " and ")
	}
	return strings.Join(list[:len(list)-1], ", ") + ", and " + list[len(list)-1]
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
