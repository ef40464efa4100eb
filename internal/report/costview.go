package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"postage/internal/cost"
	"postage/internal/verdict"
	"postage/internal/words"
)

// costView is what sending messages costs a month: of each message, by the usual way, and what it
// would be by every other way.
type costView struct {
	Prices   string
	Messages []messageCost
}

// messageCost is the bill of a message. Steps that do not depend on the message are with the first
// one alone.
type messageCost struct {
	Name     string
	Usual    bool     // it is the message to begin with
	Choices  []string // of each step
	Lines    []lineView
	Total    string // "" if nothing that is chosen has a price
	Dominant string
	Switches []string
	Steps    []stepView
}

type lineView struct {
	Name, Each, USD string
	Share           float64 // percent of the total
}

// stepView is the ways to do a step.
type stepView struct {
	Title   string
	Options []optionView
}

// optionView is a way, what it takes a message, and the month's bill with it.
type optionView struct {
	Label, CPU, Bytes, USD, Why string
	Chosen                      bool
}

func newCostView(m *cost.Model, prices cost.Choice) *costView {
	if m == nil {
		return nil
	}
	first := m.First()
	ch := cost.Choice{Rate: cmp.Or(prices.Rate, first.Rate), CPUHour: cmp.Or(prices.CPUHour, first.CPUHour), GB: cmp.Or(prices.GB, first.GB)}
	v := &costView{Prices: fmt.Sprintf("%v messages a second, %v USD a CPU hour (the large clouds list about 0.04 for a vCPU on demand), %v USD a GB of traffic "+
		"(they list nothing within a zone, about 0.01 between zones, 0.09 to the internet)", ch.Rate, ch.CPUHour, ch.GB)}
	for i, name := range m.Messages {
		ch.Message = i
		ch = m.Usual(ch)
		of := newMessageCost(m, ch, name)
		of.Usual = i == first.Message
		v.Messages = append(v.Messages, of)
	}
	return v
}

func newMessageCost(m *cost.Model, ch cost.Choice, name string) messageCost {
	b := m.Bill(ch)
	v := messageCost{Name: name, Dominant: dominant(&b)}
	if b.Total.Value > 0 {
		v.Total = moneyText(b.Total)
	}
	for _, l := range b.Lines {
		line := lineView{Name: l.Name, Each: spanned(l.Each, duration), USD: moneyText(l.USD)}
		if l.Traffic {
			line.Each = grouped(l.Each.Value) + " bytes"
		}
		if b.Total.Value > 0 {
			line.Share = 100 * l.USD.Value / b.Total.Value
		}
		v.Lines = append(v.Lines, line)
	}
	for _, s := range b.Switches {
		v.Switches = append(v.Switches, switchText(&s))
	}
	for i := range m.Steps {
		s := &m.Steps[i]
		options := s.Options(ch.Message)
		v.Choices = append(v.Choices, s.Title+" "+options[ch.At[i]].Label)
		if len(s.Lists) == 1 && ch.Message > 0 {
			continue
		}
		step := stepView{Title: s.Title}
		for j := range options {
			step.Options = append(step.Options, newOption(m, ch, i, j))
		}
		v.Steps = append(v.Steps, step)
	}
	return v
}

func newOption(m *cost.Model, ch cost.Choice, step, at int) optionView {
	o := &m.Steps[step].Options(ch.Message)[at]
	v := optionView{Label: strings.TrimSpace(o.Heading + " " + o.Label), Why: o.Why, Chosen: ch.At[step] == at}
	if o.Why != "" {
		return v
	}
	each := verdict.Exactly(0)
	for i := range o.Parts {
		each = each.Plus(1, o.Parts[i].Interval)
	}
	v.CPU, v.Bytes, v.USD = spanned(each, duration), grouped(o.Bytes), moneyText(m.Bill(ch.With(step, at)).Total)
	return v
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
	case s.To == "":
		return fmt.Sprintf("%s: this record has nothing to switch to.", s.What)
	case s.Saving.Value <= 0:
		return fmt.Sprintf("%s: %s is the cheapest that was measured.", s.What, s.From)
	case s.Saving.Bounded() && s.Saving.Undecided():
		return fmt.Sprintf("%s: whether %s is cheaper than %s is undecided (%s to %s USD a month).", s.What, s.To, s.From, dollars(s.Saving.Low), dollars(s.Saving.High))
	}
	return fmt.Sprintf("%s: %s in place of %s saves %s USD a month.", s.What, s.To, s.From, moneyText(s.Saving))
}

// moneyText is an amount with its interval.
func moneyText(i verdict.Interval) string {
	if i.Low == i.High {
		return dollars(i.Value)
	}
	return spanned(i, dollars)
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
