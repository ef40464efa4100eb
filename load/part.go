package load

import (
	"cmp"
	"fmt"
	"math"
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
	CPU                            time.Duration
	BusyCPU, BusyFor               time.Duration
	Elapsed                        time.Duration
	Processors                     int
	Invalid                        string // why its latencies are not the server's
	Final                          bool   // the worker sends no more reports
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
	if p.Latency, err = r.Latency.Encode(hdrhistogram.V2CompressedEncodingCookieBase); err != nil {
		return p, fmt.Errorf("load: encode the latencies: %w", err)
	}
	if p.Late, err = r.Late.Encode(hdrhistogram.V2CompressedEncodingCookieBase); err != nil {
		return p, fmt.Errorf("load: encode the lateness: %w", err)
	}
	if r.MessageLatency != nil {
		if p.MessageLatency, err = r.MessageLatency.Encode(hdrhistogram.V2CompressedEncodingCookieBase); err != nil {
			return p, fmt.Errorf("load: encode the messages' latencies: %w", err)
		}
	}
	return p, nil
}

// Merge returns the result of a plan that several workers carried out, and that was stopped after
// some time unless it lasted for its Duration. It adds their histograms bucket by bucket. NotSent
// counts what none of them has reported as sent.
func Merge(p *Plan, parts []Part, lasted time.Duration) (*Result, error) {
	sum := newTally()
	result := &Result{Rate: p.Rate, Planned: p.requests()}
	var sent int64
	parts = slices.SortedFunc(slices.Values(parts), func(a, b Part) int { return cmp.Or(a.Worker-b.Worker, cmp.Compare(a.Name, b.Name)) })
	for i := range parts {
		part := &parts[i]
		t := newTally()
		for _, h := range []struct {
			text []byte
			into **hdrhistogram.Histogram
		}{{part.Latency, &t.latency}, {part.Late, &t.late}, {part.MessageLatency, &t.messages}} {
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
		result.Elapsed = max(result.Elapsed, part.Elapsed)
		result.busyFor = max(result.busyFor, part.BusyFor)
		result.busyCPU += part.BusyCPU
		result.CPU += part.CPU
		result.Processors += part.Processors
		if part.Invalid != "" && result.fault == "" {
			result.fault = fmt.Sprintf("worker %d (%s): %s", part.Worker, part.Name, part.Invalid)
		}
	}
	result.NotSent = result.Planned - sent
	result.onTime, result.Done = sum.onTime, sum.latency.TotalCount()-sum.unanswered
	result.Unanswered = sent - result.Done // with those under way when a worker reported last
	result.Sent, result.Received, result.MessageLatency = sum.sent, sum.received, sum.messages
	result.Errors, result.Statuses, result.Latency, result.Late = sum.reasons(), sum.statuses, sum.latency, sum.late
	if span := min(p.Duration, lasted); span > 0 {
		result.Achieved = float64(sum.onTime) / span.Seconds()
	}
	return result, nil
}

// requests returns how many requests are due in all.
func (p *Plan) requests() int64 {
	limit := p.Rate * p.Duration.Seconds()
	if !p.Poisson {
		return int64(math.Ceil(limit - 1e-6))
	}
	var n int64
	for i := range max(1, p.Workers) {
		share := *p
		share.Worker = i
		for next := share.arrivals(); next() < limit; {
			n++
		}
	}
	return n
}

// number returns the number, among the requests of all workers, of this worker's request i.
func (p *Plan) number(i int64) int64 { return i*int64(max(1, p.Workers)) + int64(p.Worker) }
