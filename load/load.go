package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"postage/proc"
)

// A Sender sends one request at a time and waits for the answer. It returns the answer's
// status, 0 if there was none. An answer that is not a success is an error.
type Sender interface {
	Send(ctx context.Context) (status int, err error)
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

// Connect makes the sender's connection.
func (l oneAtATime) Connect(ctx context.Context) error {
	if c, ok := l.Sender.(connecter); ok {
		return c.Connect(ctx)
	}
	return nil
}

// A connecter is a line, or a sender, that can connect before the first request is due.
type connecter interface {
	Connect(ctx context.Context) error
}

func (l oneAtATime) Serve(ctx context.Context, w *Work) {
	free := time.Now()
	for {
		due, ok := w.Take(free)
		if !ok {
			return
		}
		status, err := l.Send(ctx)
		free = time.Now()
		w.Done(due, free, status, err)
	}
}

// A selfPaced line waits itself until requests are due, and needs no pacer.
type selfPaced interface {
	Line
	pacesItself()
}

// Plan says what to send and when.
type Plan struct {
	// Rate is in requests a second, 0 for as many as the lines can carry.
	Rate float64
	// Poisson has requests become due at random times, independent of each other, as
	// those of many users are; without it they are evenly spaced, which understates
	// how long they queue.
	Poisson bool
	// Stages, where there are any, say how Rate changes; it is their mean then, and
	// Duration their sum.
	Stages []Stage
	// Dues, where there are any, are when requests are due, after the start and before
	// Duration's end; Rate is their mean then.
	Dues []time.Duration
	// Every, where it is not 0, has Told told what came of each interval of that length
	// while the plan lasts, one after the other.
	Every time.Duration
	Told  func(Interval)
	// Duration is for how long requests become due. Those that are under way then are
	// waited for.
	Duration time.Duration
	// Patience is for how long they are; 0 is 30 s. Those that are not answered until
	// then have failed.
	Patience time.Duration
	// Workers, where it is not 0, says that so many carry the plan out; Worker is the number of
	// this one, whose requests are those with k mod Workers = Worker.
	Worker, Workers int
	// Ready, where set, is called when connections are open, and returns when the first request is
	// due. Requests that were due before the present are then left out.
	Ready func(ctx context.Context) (start time.Time, err error)
	// Began, where set, is told when requests become due, with a function that says what came so
	// far; it may be called until the plan has ended.
	Began func(soFar func() *Result)
	// Lines carry requests at the same time.
	Lines []Line
}

// backlog is how many requests that are due may wait for a line before their pacer waits
// too. Nothing is lost then: when they are due is computed, not measured.
const backlog = 1 << 16

// patience is Plan.Patience where that is 0.
const patience = 30 * time.Second

// Result is what came of a plan.
type Result struct {
	Rate float64 // asked for, 0 for none
	// Achieved is at a rate the requests a second that were sent on time, while the
	// plan lasted; without one, the answers a second.
	Achieved float64
	Planned  int64         // requests that were due, 0 where there was no rate
	onTime   int64         // of them, sent while the plan lasted
	Elapsed  time.Duration // from the first due to the last answer
	Done     int64         // answers, errors included
	// Unanswered is how many requests were due and had no answer when the plan was
	// interrupted. They are in Latency as at least as long as they had waited.
	Unanswered int64
	Errors     map[string]int64
	Statuses   map[int]int64 // answers by their status: HTTP's, or gRPC's
	// Latency is from when requests were due, or sent where there was no rate, to
	// their answers, errors included, in nanoseconds.
	Latency *hdrhistogram.Histogram
	// Late is how late requests were sent for which there was room, in nanoseconds.
	Late *hdrhistogram.Histogram
	// Sent and Received are messages of gRPC's streams. MessageLatency is, in nanoseconds, from
	// the sending of a message to its answer, or for a server stream from one that came to
	// the next; nil where there is none.
	Sent, Received int64
	MessageLatency *hdrhistogram.Histogram
	// CPU is the generator's own time, user and system; -1 where it is not known.
	CPU time.Duration
	// busyCPU is that of it which was used while the plan lasted, and busyFor how long
	// that was; 0 for all of it.
	busyCPU, busyFor time.Duration
	// Processors is how many the generator could use.
	Processors int
	// NotSent is how many requests a fleet had not reported as sent in the end: they were not sent,
	// or by a worker that died before it could say so.
	NotSent int64
	fault   string // the worker of a fleet that makes all invalid
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
	if len(p.Stages) > 0 && (p.Rate == 0 || math.Abs(p.Duration.Seconds()*p.Rate/planned(p.Stages, p.Duration.Seconds())-1) > 1e-6) {
		return nil, fmt.Errorf("load: a plan's rate has to be the mean of its stages, and its duration their sum")
	}
	if n := len(p.Dues); n > 0 && (p.Rate == 0 || p.Dues[n-1] >= p.Duration || !slices.IsSorted(p.Dues)) {
		return nil, fmt.Errorf("load: when requests are due has to rise and end before the plan does, and the rate be their mean")
	}
	r := &run{plan: p, ctx: ctx, dues: make(chan time.Duration, backlog)}
	requests, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	r.requests = requests
	r.tallies = make([]*tally, min(len(p.Lines), 2*runtime.GOMAXPROCS(0)))
	for i := range r.tallies {
		r.tallies[i] = newTally()
	}
	connect(ctx, p.Lines)
	r.start = time.Now()
	if p.Ready != nil {
		start, err := p.Ready(ctx)
		if err != nil {
			return nil, fmt.Errorf("load: wait for the start: %w", err)
		}
		now := time.Now()
		r.start = now.Add(time.Until(start.Round(0))) // by this machine's monotonic clock from here on
		if late := now.Sub(r.start); late > 0 {
			r.skip(late)
		}
	}
	cpu, _ := proc.CPU()
	r.cpuBefore = cpu
	r.end = r.start.Add(p.Duration)
	// Requests under way are given a moment after ctx has ended.
	detach := context.AfterFunc(ctx, func() {
		r.measureBusy()
		time.AfterFunc(time.Second, func() { stop(nil) })
	})
	defer detach()
	told := r.tellIntervals()
	ended := time.AfterFunc(time.Until(r.end), r.measureBusy)
	defer ended.Stop()
	impatient := time.AfterFunc(time.Until(r.end)+p.Patience, func() { stop(errNoAnswer) })
	defer impatient.Stop()
	if p.Began != nil {
		p.Began(r.soFar)
	}
	var group sync.WaitGroup
	for i, line := range p.Lines {
		w := &Work{run: r, tally: r.tallies[i%len(r.tallies)]}
		group.Go(func() { line.Serve(requests, w) })
	}
	paced := make(chan struct{})
	pace := func() {
		defer close(paced)
		if p.Rate > 0 {
			r.pace()
		} else {
			close(r.dues)
		}
	}
	if slices.ContainsFunc(p.Lines, func(l Line) bool { _, ok := l.(selfPaced); return !ok }) {
		go pace()
		group.Wait()
	} else {
		group.Wait()
		go pace() // what the lines have left
	}
	// Those that no line has taken are not answered either.
	rest := &Work{run: r, tally: r.tallies[0]}
	for due := range r.dues { // until the pacer has ended
		if ctx.Err() != nil {
			rest.giveUp(r.start.Add(due), time.Now())
		} else {
			rest.Done(r.start.Add(due), time.Now(), 0, errNoAnswer)
		}
	}
	<-paced
	told()
	return r.result(cpu), nil
}

// connectors is how many connections are made at a time.
const connectors = 64

// connect has all lines connect before the first request is due. What goes wrong is not
// told here: the requests that need the connection make it again, and fail with that.
func connect(ctx context.Context, lines []Line) {
	turn := make(chan struct{}, connectors)
	var group sync.WaitGroup
	for _, line := range lines {
		if c, ok := line.(connecter); ok {
			turn <- struct{}{}
			group.Go(func() {
				_ = c.Connect(ctx)
				<-turn
			})
		}
	}
	group.Wait()
}

// run is the state of one Run.
type run struct {
	plan       Plan
	ctx        context.Context // no more requests are taken when it has ended
	requests   context.Context // and none is waited for when this has
	start, end time.Time
	dues       chan time.Duration // when requests are due, after start, as that time comes
	tallies    []*tally           // each shared by some lines
	pacing     sync.Mutex         // guards the next two where lines pace themselves
	planned    int64              // requests that were due; the pacer's
	skipped    int64              // requests that were due before it began
	cpuBefore  time.Duration
	passed     float64 // the same at random times, before they are rounded

	busy    sync.Once
	busyCPU time.Duration // used until the plan's end, and
	busyFor time.Duration // when that was
}

// measureBusy notes what the plan itself took, without what is waited for at its end.
func (r *run) measureBusy() {
	r.busy.Do(func() {
		if cpu, known := proc.CPU(); known {
			r.busyCPU, r.busyFor = cpu, time.Since(r.start)
		}
	})
}

// soFar is what came until now.
func (r *run) soFar() *Result {
	sum := newTally()
	sum.ended = r.start
	for _, t := range r.tallies {
		sum.add(t)
	}
	result := &Result{
		Rate: r.plan.Rate, onTime: sum.onTime, Elapsed: max(0, time.Since(r.start)), Done: sum.latency.TotalCount() - sum.unanswered,
		Unanswered: sum.unanswered, Errors: sum.reasons(), Statuses: sum.statuses, Latency: sum.latency, Late: sum.late,
		Processors: runtime.GOMAXPROCS(0),
	}
	if cpu, known := proc.CPU(); known {
		result.CPU = cpu - r.cpuBefore
	}
	return result
}

func (r *run) result(cpuBefore time.Duration) *Result {
	r.measureBusy()
	sum := newTally()
	sum.ended = r.start
	for _, t := range r.tallies {
		sum.add(t)
	}
	result := &Result{
		Rate: r.plan.Rate, Planned: r.planned, onTime: sum.onTime, Elapsed: sum.ended.Sub(r.start), Done: sum.latency.TotalCount() - sum.unanswered,
		Unanswered: sum.unanswered, Errors: sum.reasons(), Statuses: sum.statuses, Latency: sum.latency, Late: sum.late, CPU: -1,
		Sent: sum.sent, Received: sum.received, MessageLatency: sum.messages,
		busyFor: r.busyFor, busyCPU: r.busyCPU - cpuBefore,
		Processors: runtime.GOMAXPROCS(0), Interrupted: r.ctx.Err() != nil,
	}
	if cpu, known := proc.CPU(); known {
		result.CPU = cpu - cpuBefore
	}
	if result.Interrupted {
		result.Elapsed = max(result.Elapsed, r.busyFor)
	} else {
		result.busyFor = max(r.busyFor, r.plan.Duration) // all may have been answered before its end
	}
	answered, span := result.Done, result.Elapsed
	if result.Rate > 0 {
		answered, span = sum.onTime, r.plan.Duration
		if result.Interrupted {
			// n requests take n intervals: the last is due one interval before the end.
			span = time.Duration(float64(r.planned) / result.Rate * 1e9)
		}
	}
	if span > 0 {
		result.Achieved = float64(answered) / span.Seconds()
	}
	return result
}
