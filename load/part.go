package load

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A Part has all that one worker of a fleet has counted since it began. Each report replaces the
// one before, so a report may be lost or received twice.
type Part struct {
	Worker int
	// Name tells the worker from one that it replaced.
	Name string
	// Sent is the number of requests that were sent or have failed unsent, OnTime the number of
	// those sent while the plan lasted.
	Sent, OnTime int64
	Unanswered   int64
	Errors       map[string]int64
	Statuses     map[int]int64
	// Latency and Late are histograms in HdrHistogram's compressed form.
	Latency, Late []byte
	// The messages of gRPC streams, as in Result; MessageLatency is empty if there were none.
	MessagesSent, MessagesReceived int64
	MessageLatency                 []byte
	Targets                        []TargetPart
	CPU                            time.Duration
	BusyCPU, BusyFor               time.Duration
	Elapsed                        time.Duration
	Processors                     int
	Invalid                        string // why its latencies are not the server's
	Final                          bool   // the worker sends no more reports
}

// A TargetPart is what a worker has counted of one target.
type TargetPart struct {
	Name    string
	Failed  int64
	Latency []byte // in HdrHistogram's compressed form
}

// Part returns a result in the form in which a worker reports it.
func (r *Result) Part() (Part, error) {
	p := Part{
		Sent: max(r.Late.TotalCount(), r.Latency.TotalCount()), OnTime: r.onTime, Unanswered: r.Unanswered, Errors: r.Errors, Statuses: r.Statuses,
		CPU: r.CPU, BusyCPU: r.busyCPU, BusyFor: r.busyFor, Elapsed: r.Elapsed, Processors: r.Processors,
		MessagesSent: r.Sent, MessagesReceived: r.Received,
	}
	if r.Done > 0 {
		p.Invalid = r.Invalid()
	}
	var err error
	encode := func(into *[]byte, h *hdrhistogram.Histogram) {
		if text, failed := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase); failed != nil {
			err = fmt.Errorf("load: encode the latencies: %w", failed)
		} else {
			*into = text
		}
	}
	encode(&p.Latency, r.Latency)
	encode(&p.Late, r.Late)
	if r.MessageLatency != nil {
		encode(&p.MessageLatency, r.MessageLatency)
	}
	for _, t := range r.Targets {
		part := TargetPart{Name: t.Name, Failed: t.Failed}
		encode(&part.Latency, t.Latency)
		p.Targets = append(p.Targets, part)
	}
	return p, err
}

// Merge returns the result of a plan that several workers carried out, and that was stopped after
// some time unless it lasted for its Duration. It adds their histograms bucket by bucket. NotSent
// counts what none of them has reported as sent.
func Merge(p *Plan, parts []Part, lasted time.Duration) (*Result, error) {
	sum := newTally()
	total := Result{Rate: rate(p.Pacer), Planned: p.requests()}
	var sent int64
	var names []string // of the targets, which all workers have in the same order
	parts = slices.SortedFunc(slices.Values(parts), func(a, b Part) int { return cmp.Or(a.Worker-b.Worker, cmp.Compare(a.Name, b.Name)) })
	for i := range parts {
		part := &parts[i]
		t := newTally()
		type coded struct {
			text []byte
			into **hdrhistogram.Histogram
		}
		all := []coded{{part.Latency, &t.latency}, {part.Late, &t.late}, {part.MessageLatency, &t.messages}}
		t.targets = make([]targetTally, len(part.Targets))
		for i, target := range part.Targets {
			t.targets[i].failed = target.Failed
			all = append(all, coded{target.Latency, &t.targets[i].latency})
			if i == len(names) {
				names = append(names, target.Name)
			}
		}
		for _, h := range all {
			if len(h.text) == 0 {
				continue
			}
			decoded, err := hdrhistogram.Decode(h.text)
			if err != nil {
				return nil, fmt.Errorf("load: worker %d, %s: its report: %w", part.Worker, part.Name, err)
			}
			*h.into = decoded
		}
		t.errors, t.statuses, t.onTime, t.unanswered = part.Errors, part.Statuses, part.OnTime, part.Unanswered
		t.sent, t.received = part.MessagesSent, part.MessagesReceived
		sum.add(t)
		sent += part.Sent
		total.Elapsed = max(total.Elapsed, part.Elapsed)
		total.busyFor = max(total.busyFor, part.BusyFor)
		total.busyCPU += part.BusyCPU
		total.CPU += part.CPU
		total.Processors += part.Processors
		if part.Invalid != "" && total.fault == "" {
			total.fault = fmt.Sprintf("worker %d (%s): %s", part.Worker, part.Name, part.Invalid)
		}
	}
	result := sum.result(names)
	result.Rate, result.Planned, result.Elapsed, result.CPU, result.Processors = total.Rate, total.Planned, total.Elapsed, total.CPU, total.Processors
	result.busyFor, result.busyCPU, result.fault = total.busyFor, total.busyCPU, total.fault
	result.NotSent = result.Planned - sent
	result.Unanswered = sent - result.Done // with those under way when a worker reported last
	_, span := p.Pacer.Span()
	if span = min(span, lasted); span > 0 {
		result.Achieved = float64(sum.onTime) / span.Seconds()
	}
	return result, nil
}
