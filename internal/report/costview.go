package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"postage/internal/cost"
	"postage/internal/verdict"
	"postage/internal/words"
)

// costView is the calculator as the page begins with it.
type costView struct {
	Data     scriptCosts
	Choices  []choiceView
	Inputs   []inputView
	Lines    []lineView
	Total    valueView
	Dominant string
	Switches []switchView
}

type choiceView struct {
	ID, Title string
	Options   []optionGroup
}

type optionGroup struct {
	Heading string
	Options []optionView
}

type optionView struct {
	Index           int
	Label           string
	Selected, Stuck bool
}

type inputView struct {
	ID, Title, Note string
	Value           float64
}

type valueView struct {
	Value float64
	Text  string
}

type lineView struct {
	Name, Each string
	USD        valueView
	Share      float64 // percent of the total
}

type switchView struct {
	Text  string
	Value float64
}

func newCostView(m *cost.Model) *costView {
	if m == nil {
		return nil
	}
	ch := m.First()
	v := &costView{Data: newScriptCosts(m), Inputs: []inputView{
		{"cost-rate", "messages a second", "", ch.Rate},
		{"cost-cpu", "USD a CPU hour", "about what the large clouds list for a vCPU on demand", ch.CPUHour},
		{"cost-gb", "USD a GB of traffic", "nothing within a zone; about 0.01 between zones and 0.09 to the internet, as the large clouds list it", ch.GB},
	}}
	var messages []cost.Option
	for _, name := range m.Messages {
		messages = append(messages, cost.Option{Label: name})
	}
	v.Choices = append(v.Choices, choiceView{"cost-message", "message", grouping(messages, ch.Message)})
	for i := range m.Steps {
		s := &m.Steps[i]
		groups := grouping(s.Options(ch.Message), ch.At[i])
		if len(s.Lists) == 1 && len(s.Lists[0]) == 1 && s.Lists[0][0].Label != cost.Absent {
			groups[0].Options = append(groups[0].Options, optionView{-1, "the only one in this record", false, true})
		}
		v.Choices = append(v.Choices, choiceView{"cost-" + s.Name, s.Title, groups})
	}
	b := m.Bill(ch)
	v.Total = valueView{b.Total.Value, moneyText(b.Total)}
	for _, l := range b.Lines {
		each := durationText(l.Each)
		if l.Traffic {
			each = grouped(l.Each.Value) + " bytes"
		}
		line := lineView{l.Name, each, valueView{l.USD.Value, moneyText(l.USD)}, 0}
		if b.Total.Value > 0 {
			line.Share = 100 * l.USD.Value / b.Total.Value
		}
		v.Lines = append(v.Lines, line)
	}
	v.Dominant = dominant(&b)
	for _, s := range b.Switches {
		v.Switches = append(v.Switches, switchView{switchText(&s), s.Saving.Value})
	}
	return v
}

// grouping puts the options of one case below its heading.
func grouping(options []cost.Option, at int) []optionGroup {
	var groups []optionGroup
	for i := range options {
		o := &options[i]
		if len(groups) == 0 || groups[len(groups)-1].Heading != o.Heading {
			groups = append(groups, optionGroup{Heading: o.Heading})
		}
		g := &groups[len(groups)-1]
		g.Options = append(g.Options, optionView{i, optionTitle(o), i == at, o.Why != ""})
	}
	return groups
}

// optionTitle is the option with the reason why it cannot be chosen.
func optionTitle(o *cost.Option) string {
	if o.Why == "" {
		return o.Label
	}
	return o.Label + ": " + clipped(o.Why, 60)
}

// dominant says which line is the largest.
func dominant(b *cost.Bill) string {
	top := slices.MaxFunc(b.Lines, func(x, y cost.Line) int {
		if x.USD.Value < y.USD.Value {
			return -1
		}
		return 1
	})
	if b.Total.Value <= 0 {
		return "The record has the cost of nothing that is chosen: it lacks a part of what a message goes through."
	}
	return fmt.Sprintf("Most of it is %s: %.0f%%.", top.Name, 100*top.USD.Value/b.Total.Value)
}

// switchText says what to switch saves.
func switchText(s *cost.Switch) string {
	switch {
	case !s.Saving.Known:
		return fmt.Sprintf("%s: this record has nothing to switch to.", s.What)
	case s.Saving.Value <= 0:
		return fmt.Sprintf("%s: %s is the cheapest that was measured.", s.What, s.From)
	case s.Saving.Bounded() && s.Saving.Undecided():
		return fmt.Sprintf("%s: whether %s is cheaper than %s is undecided (%s to %s USD a month).", s.What, s.To, s.From, dollars(s.Saving.Low), dollars(s.Saving.High))
	}
	return fmt.Sprintf("%s: %s in place of %s saves %s USD a month.", s.What, s.To, s.From, moneyText(s.Saving))
}

// moneyText is an amount with its interval.
func moneyText(q verdict.Quantity) string {
	switch {
	case !q.Bounded():
		return dollars(q.Value) + " (no interval yet)"
	case q.Low == q.High:
		return dollars(q.Value)
	}
	return fmt.Sprintf("%s (%s to %s)", dollars(q.Value), dollars(q.Low), dollars(q.High))
}

// durationText is a time with its interval.
func durationText(q verdict.Quantity) string {
	if !q.Bounded() {
		return duration(q.Value) + " (no interval yet)"
	}
	return strings.Join([]string{duration(q.Value), " (", duration(q.Low), " to ", duration(q.High), ")"}, "")
}

// dollars prints an amount of USD.
func dollars(x float64) string {
	sign := ""
	if x < 0 {
		sign, x = "-", -x
	}
	x = tiesUp(x)
	switch {
	case x >= 99.995:
		return sign + words.Integer(int64(math.Round(x)))
	case x >= 0.9995 || x == 0:
		return sign + fmt.Sprintf("%.2f", x)
	case x < 0.0005:
		return "0.000"
	}
	return sign + fmt.Sprintf("%.3f", x)
}
