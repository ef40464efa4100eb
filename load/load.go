package load

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"postage/proc"
)

// A Sender sends one request at a time and waits for the answer. An answer that is not
// a success is an error.
type Sender interface {
	Send(ctx context.Context) error
}

// A Line carries requests to the server, as many at a time as it has room for.
type Line interface {
	// Serve takes requests from w and tells it what came of them, until there are no
	// more. When ctx ends it gives up those that are under way.
	Serve(ctx context.Context, w *Work)
}

// OneAtATime is a line with room for one request.
func OneAtATime(s Sender) Line { return oneAtATime{s} }

type oneAtATime struct{ Sender }

func (l oneAtATime) Serve(ctx context.Context, w *Work) {
	free := time.Now()
	for {
		due, ok := w.Take(free)
		if !ok {
			return
		}
		err := l.Send(ctx)
		free = time.Now()
		w.Done(due, free, err)
	}
}

// Plan says what to send and when.
type Plan struct {
	// Rate is in requests a second, 0 for as many as the lines can carry.
	Rate float64
	// Duration is for how long requests become due. Those that are under way then are
	// waited for.
	Duration time.Duration
	// Patience is for how long they are; 0 is 30 s. Those that are not answered until
	// then have failed.
	Patience time.Duration
	// Lines carry requests at the same time.
	Lines []Line
}

// slowest is the longest latency that is told apart; longer ones count as it.
const slowest = 10 * time.Minute

// backlog is how many requests that are due may wait for a line before their pacer waits
// too. Nothing is lost then: when they are due is computed, not measured.
const backlog = 1 << 16

// patience is Plan.Patience where that is 0.
const patience = 30 * time.Second

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
	// Late is how late requests were sent for which there was room, in nanoseconds.
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

// errNoAnswer is the failure of requests that patience ended for.
var errNoAnswer = errors.New("no answer in time after the end of the run")

// Run carries a plan out. When ctx ends it stops and returns what was measured so far.
func Run(ctx context.Context, p Plan) (*Result, error) {
	if p.Rate < 0 || p.Duration <= 0 || p.Patience < 0 || len(p.Lines) == 0 {
		return nil, fmt.Errorf("load: a plan needs a rate of at least 0, a duration and a line")
	}
	if p.Patience == 0 {
		p.Patience = patience
	}
	r := &run{plan: p, ctx: ctx, dues: make(chan time.Duration, backlog)}
	requests, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	r.requests = requests
	cpu, _ := proc.CPU()
	r.start = time.Now()
	r.end = r.start.Add(p.Duration)
	// Requests under way are given a moment after ctx has ended.
	detach := context.AfterFunc(ctx, func() { time.AfterFunc(time.Second, func() { stop(nil) }) })
	defer detach()
	impatient := time.AfterFunc(p.Duration+p.Patience, func() { stop(errNoAnswer) })
	defer impatient.Stop()
	works := make([]*Work, len(p.Lines))
	var group sync.WaitGroup
	for i, line := range p.Lines {
		works[i] = newWork(r)
		group.Go(func() { line.Serve(requests, works[i]) })
	}
	if p.Rate > 0 {
		go r.pace()
	}
	group.Wait()
	if p.Rate > 0 {
		// Those that no line has taken are not answered either.
		rest := newWork(r)
		works = append(works, rest)
		for due := range r.dues { // until the pacer has ended
			if ctx.Err() == nil {
				rest.Done(r.start.Add(due), time.Now(), errNoAnswer)
			}
		}
	}
	return r.result(works, cpu), nil
}

// run is the state of one Run.
type run struct {
	plan       Plan
	ctx        context.Context // no more requests are taken when it has ended
	requests   context.Context // and none is waited for when this has
	start, end time.Time
	dues       chan time.Duration // when requests are due, after start, as that time comes
}

func (r *run) result(works []*Work, cpuBefore time.Duration) *Result {
	sum := newWork(r)
	sum.ended = r.start
	for _, w := range works {
		sum.latency.Merge(w.latency)
		sum.late.Merge(w.late)
		for why, n := range w.errors {
			sum.errors[why] += n
		}
		if w.ended.After(sum.ended) {
			sum.ended = w.ended
		}
	}
	result := &Result{
		Rate: r.plan.Rate, Elapsed: sum.ended.Sub(r.start), Done: sum.latency.TotalCount(), Errors: sum.errors,
		Latency: sum.latency, Late: sum.late, CPU: -1, Processors: runtime.GOMAXPROCS(0), Interrupted: r.ctx.Err() != nil,
	}
	if cpu, known := proc.CPU(); known {
		result.CPU = cpu - cpuBefore
	}
	span := result.Elapsed.Seconds()
	if result.Rate > 0 {
		// n requests take n intervals: the last is due one interval before the end.
		span = max(span, float64(result.Done)/result.Rate)
	}
	if span > 0 {
		result.Achieved = float64(result.Done) / span
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
