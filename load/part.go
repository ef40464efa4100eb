package load

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// A Part is what one worker of a fleet has counted since it began. Each report replaces the one
// before, so a report may be lost, or read twice.
type Part struct {
	Worker int
	// Name tells the worker from one that it replaced.
	Name string
	// Requests is how many were sent or have failed unsent.
	Requests int64
	Counts
	Use
	Invalid string // why its latencies are not the server's
	Final   bool   // the worker sends no more reports
}

// Part returns what a worker reports of a result.
func (r *Result) Part() Part {
	p := Part{Requests: max(r.Account.Begun+r.Account.NotSent, r.Latency.TotalCount()), Counts: r.Counts, Use: r.Use}
	if r.Done > 0 {
		p.Invalid = r.Invalid()
	}
	return p
}

// Merge returns the result of a plan that several workers carried out, and that was stopped after
// some time unless it lasted for its Duration. It adds their histograms bucket by bucket. NotSent
// counts what none of them has reported as sent. Parts have histograms.
func Merge(p *Plan, parts []Part, lasted time.Duration) *Result {
	r := &Result{Counts: newCounts(), Rate: rate(p.Pacer), Planned: p.requests()}
	var sent int64
	for _, part := range slices.SortedFunc(slices.Values(parts), func(a, b Part) int { return cmp.Or(a.Worker-b.Worker, cmp.Compare(a.Name, b.Name)) }) {
		r.add(&part.Counts)
		sent += part.Requests
		r.Elapsed = max(r.Elapsed, part.Elapsed)
		r.BusyFor = max(r.BusyFor, part.BusyFor)
		r.BusyCPU += part.BusyCPU
		r.CPU += part.CPU
		r.Traffic.add(part.Traffic, 1)
		r.Processors += part.Processors
		if part.Invalid != "" && r.fault == "" {
			r.fault = fmt.Sprintf("worker %d (%s): %s", part.Worker, part.Name, part.Invalid)
		}
	}
	r.sumUp()
	r.Account.Unanswered = sent - r.Done - r.Account.NotSent // with those under way when a worker reported last
	r.unreported = r.Planned - sent
	r.Account.NotSent += r.unreported
	_, span := p.Pacer.Span()
	if span = min(span, lasted); span > 0 {
		r.Achieved = float64(r.Account.SentOnTime) / span.Seconds()
	}
	return r
}
