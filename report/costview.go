package report

import (
	"fmt"
	"slices"
	"strings"
)

// costView is the calculator as the page begins with it.
type costView struct {
	Data     *costs
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

func newCostView(c *costs) *costView {
	if c == nil {
		return nil
	}
	ch := c.first()
	v := &costView{Data: c, Inputs: []inputView{
		{"cost-rate", "messages a second", "", ch.rate},
		{"cost-cpu", "USD a CPU hour", "about what the large clouds list for a vCPU on demand", ch.cpuHour},
		{"cost-gb", "USD a GB of traffic", "about what the large clouds list for traffic to the internet", ch.gb},
	}}
	messages := []costOption{}
	for _, m := range c.Messages {
		messages = append(messages, costOption{Label: m.Name})
	}
	dimensions := append([]chosen{{"message", messages, ch.message}}, c.chosen(ch)...)
	for i, title := range []string{"message", "codec", "sealed by", "sent by", "stored by"} {
		v.Choices = append(v.Choices, choiceView{"cost-" + dimensions[i].name, title, grouping(dimensions[i])})
	}
	b := c.sum(ch)
	v.Total = valueView{b.total.Value, moneyText(b.total)}
	for _, l := range b.lines {
		each := durationText(l.each)
		if l.name == "traffic" {
			each = grouped(l.each.Value) + " bytes"
		}
		line := lineView{l.name, each, valueView{l.usd.Value, moneyText(l.usd)}, 0}
		if b.total.Value > 0 {
			line.Share = 100 * l.usd.Value / b.total.Value
		}
		v.Lines = append(v.Lines, line)
	}
	v.Dominant = b.dominant()
	for _, s := range b.switches {
		v.Switches = append(v.Switches, switchView{s.text(), s.saving.Value})
	}
	return v
}

// grouping puts the options of one case below its heading.
func grouping(d chosen) []optionGroup {
	var groups []optionGroup
	for i, o := range d.options {
		if len(groups) == 0 || groups[len(groups)-1].Heading != o.Heading {
			groups = append(groups, optionGroup{Heading: o.Heading})
		}
		g := &groups[len(groups)-1]
		g.Options = append(g.Options, optionView{i, o.title(), i == d.at, o.Why != ""})
	}
	if len(d.options) == 1 && d.name != "message" && d.name != "codec" {
		groups[0].Options = append(groups[0].Options, optionView{-1, "nothing else is in this record", false, true})
	}
	return groups
}

// title is the option with the reason why it cannot be chosen.
func (o *costOption) title() string {
	if o.Why == "" {
		return o.Label
	}
	return o.Label + ": " + clipped(o.Why, 60)
}

// dominant says which line is the largest.
func (b *bill) dominant() string {
	top := slices.MaxFunc(b.lines, func(x, y billLine) int {
		if x.usd.Value < y.usd.Value {
			return -1
		}
		return 1
	})
	if b.total.Value <= 0 {
		return "Nothing was chosen that costs anything."
	}
	return fmt.Sprintf("Most of it is %s: %.0f%%.", top.name, 100*top.usd.Value/b.total.Value)
}

// text says what to switch saves.
func (s *costSwitch) text() string {
	switch {
	case !s.saving.known:
		return fmt.Sprintf("%s: nothing else to switch to is in this record.", s.what)
	case s.saving.Value <= 0:
		return fmt.Sprintf("%s: %s is the cheapest that was measured.", s.what, s.from)
	case s.saving.bounded() && s.saving.undecided():
		return fmt.Sprintf("%s: whether %s is cheaper than %s is undecided (%s to %s USD a month).", s.what, s.to, s.from, dollars(s.saving.Low), dollars(s.saving.High))
	}
	return fmt.Sprintf("%s: %s in place of %s saves %s USD a month.", s.what, s.to, s.from, moneyText(s.saving))
}

// moneyText is an amount with its interval.
func moneyText(q quantity) string {
	switch {
	case !q.bounded():
		return dollars(q.Value) + " (no interval yet)"
	case q.Low == q.High:
		return dollars(q.Value)
	}
	return fmt.Sprintf("%s (%s to %s)", dollars(q.Value), dollars(q.Low), dollars(q.High))
}

// durationText is a time with its interval.
func durationText(q quantity) string {
	if !q.bounded() {
		return duration(q.Value) + " (no interval yet)"
	}
	return strings.Join([]string{duration(q.Value), " (", duration(q.Low), " to ", duration(q.High), ")"}, "")
}
