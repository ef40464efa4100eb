package cost

import (
	"slices"

	"postage/internal/verdict"
)

// Choice is what a user chose: a message and an option for each step, by their indexes; messages
// per second; and prices in USD of a CPU hour and of a GB of traffic.
type Choice struct {
	Message           int
	At                []int
	Rate, CPUHour, GB float64
}

// First is the choice to begin with, of the usual message and the default prices.
func (m *Model) First() Choice {
	return m.Usual(Choice{Message: m.first, Rate: DefaultRate, CPUHour: DefaultCPUHour, GB: DefaultGB})
}

// Usual is the choice, of its message and prices, of what the stages call usual, or what comes
// first of what can be chosen.
func (m *Model) Usual(ch Choice) Choice {
	ch.At = nil
	for i := range m.Steps {
		s := &m.Steps[i]
		options := s.Options(ch.Message)
		free := func(wanted func(int) bool) int {
			for j := range options {
				if options[j].Why == "" && wanted(j) {
					return j
				}
			}
			return -1
		}
		at := 0
		if !s.left {
			if at = free(func(j int) bool { return options[j].usual }); at < 0 {
				at = max(0, free(func(j int) bool { return j > 0 || !s.optional }))
			}
		}
		ch.At = append(ch.At, at)
	}
	return ch
}

// With is the choice with another option of a step.
func (ch Choice) With(step, option int) Choice {
	ch.At = slices.Clone(ch.At)
	ch.At[step] = option
	return ch
}

// Bill is what a choice costs per month.
type Bill struct {
	Lines    []Line
	Total    verdict.Interval
	Switches []Switch
}

// Line is a part of a bill.
type Line struct {
	Name    string
	Traffic bool
	Each    verdict.Interval // a message: CPU nanoseconds; of traffic, bytes
	USD     verdict.Interval // a month
}

// Switch is the cheapest other option for one of the steps.
type Switch struct {
	What, From, To string
	Saving         verdict.Interval // USD a month; To is "" where there is no other
}

// Bill computes what a choice costs a month, in USD:
//
//	messages = rate × 3600 × 730
//	CPU      = nanoseconds / 3.6e12 × messages × price of a CPU hour, part by part
//	traffic  = bytes / 1e9 × messages × price of a GB
//
// The parts were measured in processes of their own, so their errors are independent: the
// half-widths of their intervals add in quadrature, each side by itself. Bytes are counted and have
// none. A saving is the difference of two options' costs; all else cancels.
func (m *Model) Bill(ch Choice) Bill {
	b := Bill{Total: verdict.Exactly(0)}
	for i := range m.Steps {
		for _, p := range m.chosen(ch, i).Parts {
			b.Lines = append(b.Lines, Line{Name: p.Name, Each: p.Interval, USD: p.Times(ch.cpuFactor())})
		}
	}
	sent := m.bytes(ch)
	b.Lines = append(b.Lines, Line{"traffic", true, verdict.Exactly(sent), verdict.Exactly(sent * ch.trafficFactor())})
	for _, l := range b.Lines {
		b.Total = b.Total.Plus(1, l.USD)
	}
	for i := range m.Steps {
		if len(m.chosen(ch, i).Parts) > 0 {
			b.Switches = append(b.Switches, m.cheapest(ch, i))
		}
	}
	return b
}

func (m *Model) chosen(ch Choice, step int) *Option {
	return &m.Steps[step].Options(ch.Message)[ch.At[step]]
}

// cheapest is the best other option for a step.
func (m *Model) cheapest(ch Choice, step int) Switch {
	now := m.chosen(ch, step)
	s := Switch{What: m.Steps[step].Name, From: now.Label}
	for i, o := range m.Steps[step].Options(ch.Message) {
		if i == ch.At[step] || o.Why != "" || o.Group != now.Group {
			continue
		}
		saving := verdict.Exactly((m.bytes(ch) - m.bytes(ch.With(step, i))) * ch.trafficFactor())
		for _, p := range now.Parts {
			saving = saving.Plus(ch.cpuFactor(), p.Interval)
		}
		for _, p := range o.Parts {
			saving = saving.Plus(-ch.cpuFactor(), p.Interval)
		}
		if s.To == "" || saving.Value > s.Saving.Value {
			s.From, s.To, s.Saving = now.Label, o.Label, saving
			if o.Heading != now.Heading {
				s.From, s.To = now.named(), o.named()
			}
		}
	}
	return s
}

// CPU is the time of all parts.
func (o *Option) CPU() verdict.Interval {
	sum := verdict.Exactly(0)
	for _, p := range o.Parts {
		sum = sum.Plus(1, p.Interval)
	}
	return sum
}

// named is an option with the case that it is of.
func (o *Option) named() string { return o.Label + " (" + o.Heading + ")" }

// bytes are those on the wire for one message.
func (m *Model) bytes(ch Choice) float64 {
	size, wire := 0.0, 0.0
	for i := range m.Steps {
		switch o := m.chosen(ch, i); {
		case o.Carries:
			wire += size + o.Bytes
		case o.Whole:
			size = o.Bytes
		default:
			size += o.Bytes
		}
	}
	return wire
}

func (ch *Choice) messages() float64      { return ch.Rate * 3600 * HoursPerMonth }
func (ch *Choice) cpuFactor() float64     { return ch.messages() / 3.6e12 * ch.CPUHour }
func (ch *Choice) trafficFactor() float64 { return ch.messages() / 1e9 * ch.GB }
