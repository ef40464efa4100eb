// Package cost computes what sending messages costs per month: CPU time and traffic, at prices that
// the reader gives.
//
//  1. Suites declare what their operations do for a message ([Cost]): the step, how many
//     messages an operation handles, whose CPU time counts, how many bytes go over the wire.
//  2. [New] collects from records the ways that each step can be done.
//  3. [Model.Bill] adds up what a [Choice] of ways costs, with an interval, and which
//     other way would save the most.
//
// The package names no stage and measures nothing.
package cost

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"postage/internal/verdict"
	"postage/record"
)

// What a choice begins with. The prices are about what the large clouds list: a vCPU hour
// of a general-purpose machine on demand, and a GB (10^9 bytes) within a zone.
const (
	DefaultRate    = 1000
	DefaultCPUHour = 0.04
	DefaultGB      = 0

	// InternetGB is a GB to the internet.
	InternetGB = 0.09

	// HoursPerMonth is the length of a month in cloud bills.
	HoursPerMonth = 730
)

// Absent is the label of an option that no record has.
const Absent = "not in this record"

// Model has the cost of each step of a message's way, for all the options that were measured.
type Model struct {
	Messages []string
	Steps    []Step
	first    int // message
}

// Step is a part of a message's way.
type Step struct {
	Name, Title string
	// Lists are the options: one list for all messages, or one for each.
	Lists    [][]Option
	optional bool
	left     bool // a choice begins without it, though it was measured
}

// Options are the ways to do the step for a message.
func (s *Step) Options(message int) []Option {
	if len(s.Lists) == 1 {
		return s.Lists[0]
	}
	return s.Lists[message]
}

// Option is one way to do a step for one message, or to leave it out.
type Option struct {
	Label string
	// Heading is the case, to list options below.
	Heading string
	// Group names the options that do the same work and can replace each other.
	Group string
	// Why it cannot be chosen, "" if it can.
	Why   string
	Parts []Part
	// Bytes are the message's, see [Operation].
	Bytes          float64
	Whole, Carries bool
	usual          bool
}

// Part is the CPU time a message, in nanoseconds.
type Part struct {
	Name string
	verdict.Interval
}

// New collects what records have of the steps that the stages declare, in their order. It is nil if
// there are none. Of a case in several records the first counts.
func New(stages []Stage, cases []*verdict.CaseResult) *Model {
	m := &Model{}
	byName := map[string]*verdict.CaseResult{}
	var order []*verdict.CaseResult
	for _, c := range cases {
		if byName[c.Name] == nil && c.Unmeasured() == "" {
			byName[c.Name] = c
			order = append(order, c)
		}
	}
	usual := ""
	var declared []*Cost
	var measured []map[string][]Option // by message
	for _, stage := range stages {
		if stage.Cost == nil {
			continue
		}
		byMessage := map[string][]Option{}
		for _, c := range order {
			if c.Stage() != stage.Name {
				continue
			}
			message, options := stage.Cost.options(c, byName)
			if len(options) == 0 {
				continue
			}
			byMessage[message] = append(byMessage[message], options...)
			if message != "" && !slices.Contains(m.Messages, message) {
				m.Messages = append(m.Messages, message)
			}
		}
		usual += stage.Cost.Message
		declared, measured = append(declared, stage.Cost), append(measured, byMessage)
	}
	if !slices.ContainsFunc(measured, func(options map[string][]Option) bool { return len(options) > 0 }) {
		return nil
	}
	if len(m.Messages) == 0 {
		m.Messages = []string{Absent}
	}
	for i, c := range declared {
		m.Steps = append(m.Steps, newStep(c, measured[i], m.Messages))
	}
	m.first = max(0, slices.Index(m.Messages, usual))
	return m
}

func newStep(c *Cost, byMessage map[string][]Option, messages []string) Step {
	s := Step{Name: c.Step, Title: c.Title, optional: c.Without != "", left: c.Left}
	list := func(options []Option) {
		if s.optional {
			options = slices.Insert(options, 0, Option{Label: c.Without})
		} else if len(options) == 0 {
			options = []Option{{Label: Absent}}
		}
		s.Lists = append(s.Lists, options)
	}
	if len(byMessage) == 0 || byMessage[""] != nil {
		list(byMessage[""])
		return s
	}
	for _, message := range messages {
		list(byMessage[message])
	}
	return s
}

// options are the ways of a case, and the message that they are of.
func (step *Cost) options(c *verdict.CaseResult, cases map[string]*verdict.CaseResult) (message string, all []Option) {
	for _, r := range c.Ways() {
		op := step.Of(r.Row)
		if op == nil {
			continue
		}
		message = op.Message
		o := Option{Label: record.Short(r.Row.Contender) + op.Note, Group: cmp.Or(op.Group, c.Name), Carries: op.Carries, usual: op.Usual}
		if message == "" {
			o.Heading = record.KeysOf(c.Name).Join(" ")
		}
		if o.Why = o.fill(c, r, op, cases); o.Why != "" {
			o.Parts = nil
		}
		all = append(all, o)
	}
	if len(all) > 1 && !slices.ContainsFunc(all, func(o Option) bool { return o.Why == "" || o.Why != all[0].Why }) {
		all[0].Label = fmt.Sprintf("all %d", len(all))
		all = all[:1]
	}
	return message, all
}

// fill adds to an option, a row of a case, what it costs, or says why that is not known.
func (o *Option) fill(c *verdict.CaseResult, r *verdict.Result, op *Operation, cases map[string]*verdict.CaseResult) string {
	switch {
	case r.NSOp == nil:
		return r.Reason()
	case op.Why != "":
		return op.Why
	}
	var other *verdict.Result
	if b := op.Beside; b != nil {
		if beside := cases[b.Case]; beside != nil {
			other = beside.Of(r.Row.Contender)
		}
		switch {
		case other == nil:
			return b.Title + " is " + Absent
		case other.NSOp == nil:
			return b.Title + ": " + other.Reason()
		}
	}
	for _, unit := range op.Bytes {
		size, ok := r.Metrics[unit]
		if !ok {
			return "its bytes on the wire were not measured"
		}
		o.Bytes += size
	}
	o.Bytes, o.Whole = significant(o.Bytes), op.Whole
	if why := o.part(c, r, op.Client, op.Messages, "its CPU time was not measured", clientCPU); why != "" {
		return why
	}
	if op.Server != "" {
		return o.part(c, r, op.Server, op.Messages, "its server's CPU time was not measured", serverCPU)
	}
	if other != nil {
		return o.part(cases[op.Beside.Case], other, op.Beside.Client, op.Messages, "its CPU time was not measured", clientCPU)
	}
	return ""
}

func clientCPU(s *record.Series, n int) (float64, bool) {
	return s.CostPerOp(n), s.CPUNS != nil
}

func serverCPU(s *record.Series, n int) (float64, bool) {
	values, ok := s.Counters[record.ServerCPU]
	if !ok {
		return 0, false
	}
	return record.CounterPerOp(values, n), true
}

// part adds the median over a case's blocks of a figure an operation of a row, with its interval,
// to an option; it returns why where there is none.
func (o *Option) part(c *verdict.CaseResult, r *verdict.Result, name string, messages float64, why string, figure func(*record.Series, int) (float64, bool)) string {
	var values []float64
	for _, block := range c.Record.BlocksOf(c.Name) {
		if s := block.Of(r.Row.Name); s != nil {
			if v, ok := figure(s, r.Row.N); ok {
				values = append(values, v/messages)
			}
		}
	}
	if len(values) == 0 {
		return why
	}
	o.Parts = append(o.Parts, Part{name, verdict.Located(values).Each(significant)})
	return ""
}

// significant rounds to five digits, to keep a page small.
func significant(x float64) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 5, 64), 64)
	if err != nil {
		return x
	}
	return y
}
