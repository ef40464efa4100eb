package load

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A Sender sends one request at a time and waits for the answer. An answer that is not
// a success is an error.
type Sender interface {
	Send(ctx context.Context) error
}

// Plan says what to send and when.
type Plan struct {
	// Rate is in requests a second, 0 for as many as the senders can.
	Rate float64
	// Duration is for how long requests become due. Those that are under way then are
	// waited for.
	Duration time.Duration
	// Senders are what sends at the same time.
	Senders []Sender
}

// slowest is the longest latency that is told apart; longer ones count as it.
const slowest = 10 * time.Minute

// backlog is how many requests that are due may wait for a sender before their pacer waits
// too. Nothing is lost then: when they are due is computed, not measured.
const backlog = 1 << 16

// Result is what came of a plan.
type Result struct {
	Rate     float64       // asked for, 0 for none
	Achieved float64       // answers a second, errors included
	Elapsed  time.Duration // from the first due to the last answer
	Done     int64         // answers, errors included
	Errors   map[string]int64
	// Latency is from when requests were due, or sent where there was no rate, to
	// their answers, errors included, in nanoseconds.
	Latency *hdrhistogram.Histogram
	// Late is how late senders that were free sent, in nanoseconds.
	Late *hdrhistogram.Histogram
	// CPU is the generator's own time, user and system; -1 where it is not known.
	CPU time.Duration
	// Processors is how many the generator could use.
	Processors int
	// Interrupted says that the plan was not carried out to the end.
	Interrupted bool
}

// Failed is the number of requests that were not answered by a success.
func (r *Result) Failed() int64 {
	var n int64
	for _, count := range r.Errors {
		n += count
	}
	return n
}

// Run carries a plan out. When ctx ends it stops and returns what was measured so far.
func Run(ctx context.Context, p Plan) (*Result, error) {
	if p.Rate < 0 || p.Duration <= 0 || len(p.Senders) == 0 {
		return nil, fmt.Errorf("load: a plan needs a rate of at least 0, a duration and a sender")
	}
	r := &run{plan: p, dues: make(chan time.Duration, backlog)}
	requests, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	cpu, _ := processCPU()
	r.start = time.Now()
	r.end = r.start.Add(p.Duration)
	// Requests under way are given a moment after ctx has ended.
	detach := context.AfterFunc(ctx, func() { time.AfterFunc(time.Second, stop) })
	defer detach()
	shares := make([]*share, len(p.Senders))
	var group sync.WaitGroup
	for i, sender := range p.Senders {
		s := newShare()
		shares[i] = s
		group.Go(func() { r.send(ctx, requests, sender, s) })
	}
	if p.Rate > 0 {
		group.Go(func() { r.pace(ctx) })
	}
	group.Wait()
	return r.result(ctx, shares, cpu), nil
}

// run is the state of one Run.
type run struct {
	plan       Plan
	start, end time.Time
	dues       chan time.Duration // when requests are due, after start, as that time comes
}

// share is what one sender has measured.
type share struct {
	latency, late *hdrhistogram.Histogram
	errors        map[string]int64
	ended         time.Time
}

func newShare() *share {
	return &share{
		latency: hdrhistogram.New(1000, slowest.Nanoseconds(), 3),
		late:    hdrhistogram.New(1000, slowest.Nanoseconds(), 3),
		errors:  map[string]int64{},
	}
}

func record(h *hdrhistogram.Histogram, d time.Duration) {
	_ = h.RecordValue(min(max(1, d.Nanoseconds()), slowest.Nanoseconds()))
}

// send is the life of a sender.
func (r *run) send(ctx, requests context.Context, sender Sender, s *share) {
	free := time.Now()
	s.ended = free
	for {
		due, ok := r.take(ctx, free)
		if !ok {
			return
		}
		if r.plan.Rate > 0 {
			ready := due
			if free.After(due) {
				ready = free
			}
			record(s.late, time.Since(ready))
		}
		err := sender.Send(requests)
		free = time.Now()
		if requests.Err() != nil {
			return
		}
		s.ended = free
		record(s.latency, free.Sub(due))
		if err != nil {
			s.errors[reason(err)]++
		}
	}
}

// take waits for the next request and says when it was due, or that there are no more.
func (r *run) take(ctx context.Context, now time.Time) (due time.Time, ok bool) {
	if r.plan.Rate == 0 {
		return now, now.Before(r.end) && ctx.Err() == nil
	}
	offset, ok := <-r.dues
	if !ok || ctx.Err() != nil {
		return time.Time{}, false
	}
	return r.start.Add(offset), true
}

func (r *run) result(ctx context.Context, shares []*share, cpuBefore time.Duration) *Result {
	sum := newShare()
	sum.ended = r.start
	for _, s := range shares {
		sum.latency.Merge(s.latency)
		sum.late.Merge(s.late)
		for why, n := range s.errors {
			sum.errors[why] += n
		}
		if s.ended.After(sum.ended) {
			sum.ended = s.ended
		}
	}
	result := &Result{
		Rate: r.plan.Rate, Elapsed: sum.ended.Sub(r.start), Done: sum.latency.TotalCount(), Errors: sum.errors,
		Latency: sum.latency, Late: sum.late, CPU: -1, Processors: runtime.GOMAXPROCS(0), Interrupted: ctx.Err() != nil,
	}
	if cpu, known := processCPU(); known {
		result.CPU = cpu - cpuBefore
	}
	span := result.Elapsed
	if result.Rate > 0 && !result.Interrupted {
		// The last request is due one interval before the end.
		span = max(span, r.plan.Duration)
	}
	if span > 0 {
		result.Achieved = float64(result.Done) / span.Seconds()
	}
	return result
}

// reason is an error without what differs from one request to the next.
func reason(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}
