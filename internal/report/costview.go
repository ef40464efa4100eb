package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"postage/internal/cost"
	"postage/internal/verdict"
	"postage/internal/words"
)

// costView is what sending messages costs a month: of each message, by the usual way, and what it
// would be by every other way.
type costView struct {
	Prices   string
	Messages []*messageCost
}

// messageCost is the bill of a message, by the usual way.
type messageCost struct {
	cost.Bill
	Name   string
	Usual  bool // it is the message to begin with
	Model  *cost.Model
	Choice cost.Choice
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
		v.Messages = append(v.Messages, &messageCost{m.Bill(ch), name, i == first.Message, m, ch})
	}
	return v
}

// Share is a line's, in percent of the total.
func (m *messageCost) Share(l cost.Line) float64 {
	if m.Total.Value <= 0 {
		return 0
	}
	return 100 * l.USD.Value / m.Total.Value
}

// Options are the ways to do a step, and Chosen is the one that the bill is of.
func (m *messageCost) Options(step int) []cost.Option {
	return m.Model.Steps[step].Options(m.Choice.Message)
}

func (m *messageCost) Chosen(step int) int { return m.Choice.At[step] }

// Shows reports whether a step's ways are shown with the message: those that do not depend on it
// are with the first one alone.
func (m *messageCost) Shows(step int) bool {
	return m.Choice.Message == 0 || len(m.Model.Steps[step].Lists) > 1
}

// With is the total with another way of a step.
func (m *messageCost) With(step, option int) verdict.Interval {
	return m.Model.Bill(m.Choice.With(step, option)).Total
}

// dominant says which line is the largest.
func dominant(b cost.Bill) string {
	top := slices.MaxFunc(b.Lines, func(x, y cost.Line) int { return cmp.Compare(x.USD.Value, y.USD.Value) })
	if b.Total.Value <= 0 {
		return "The record has the cost of nothing that is chosen: it lacks a part of what a message goes through."
	}
	return fmt.Sprintf("Most of it is %s: %.0f%%.", top.Name, 100*top.USD.Value/b.Total.Value)
}

// switchText says what to switch saves.
func switchText(s cost.Switch) string {
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
