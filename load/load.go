package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"postage/internal/sys/proc"
)

// A Line carries requests to the server, as many at a time as it has room for. Open makes lines.
type Line interface {
	// Connect connects before the first request is due.
	Connect(ctx context.Context) error
	// Serve takes requests from w and reports the outcome of each, until there are no more. When
	// ctx ends it gives up those under way.
	Serve(ctx context.Context, w *Work)
}

// An outcome is how one request ended.
type outcome struct {
	at     time.Time // when it was answered; zero for now
	begins time.Duration
	status int
	err    error
}

// serve sends one request at a time.
func serve(w *Work, send func() outcome) {
	for free := time.Now(); ; {
		t, ok := w.take(free)
		if !ok {
			return
		}
		o := send()
		free = time.Now()
		if o.at.IsZero() {
			o.at = free
		}
		t.begins = o.begins
		w.done(t, o.at, later(w.run.pulse.earliest(o.at), t.sent), o.status, o.err)
	}
}

// Plan says which lines send requests, and when.
type Plan struct {
	// Pacer says when requests become due. Those under way at its end are waited for.
	Pacer Pacer
	// Poisson makes requests due at random, independent times, as many users do. Without it they are
	// evenly spaced, which understates how long requests queue.
	Poisson bool
	// Seed is the seed of these times; 0 is a random one.
	Seed uint64
	// Told, if Every is not 0, is called with the answers of each interval of that length while the
	// plan lasts. Calls do not overlap.
	Every time.Duration
	Told  func(Interval)
	// GiveUp, if not 0, is how long a run goes on that has made no connection, or in which all
	// requests have failed without an answer's status.
	GiveUp time.Duration
	// Most, if not 0, is how many requests are sent without a rate.
	Most int64
	// Patience is how long the run waits for answers at its end; 0 is 30 s. Requests without an
	// answer have then failed.
	Patience time.Duration
	// Workers, if not 0, is the number of workers that share the plan. This one sends the requests k
	// with k mod Workers = Worker.
	Worker, Workers int
	// Ready, if set, is called when connections are open, and returns when the first request is
	// due. Requests that were due before now are then left out.
	Ready func(ctx context.Context) (start time.Time, err error)
	// Began, if set, is called when the first request is due. The function soFar returns what was
	// measured so far; it may be called until the plan has ended.
	Began func(soFar func() *Result)
	// Lines carry requests at the same time.
	Lines []Line
	// Traffic, if set, is Pool.Traffic.
	Traffic func() Traffic
}

// patience is Plan.Patience where that is 0.
const patience = 30 * time.Second

// Result is what a run measured.
type Result struct {
	Rate float64 // asked for, 0 for none
	// Achieved is, at a rate, the requests a second that were sent on time, while the plan lasted;
	// without a rate, the answers a second.
	Achieved float64
	Planned  int64 // requests that were due, 0 where there was no rate
	Done     int64 // answers, errors included
	Counts
	Use
	fault string // why a worker of a fleet says that the latencies are not valid
	// unreported is the part of NotSent that no worker of a fleet reported: not sent, or sent by a
	// worker that died before it could report.
	unreported int64
	// Interrupted says that the plan did not run to its end, GaveUp that this is because nothing
	// answered, and why.
	Interrupted bool
	GaveUp      string
	// Server is what the server used, nil if it is not known.
	Server ServerFigures
}

// Use is the time that a run took, and what the generator used.
type Use struct {
	Elapsed time.Duration // from the first due to the last answer
	// CPU is the generator's own user and system time; -1 if it is not known.
	CPU time.Duration
	// BusyCPU is the part of CPU used while the plan lasted, and BusyFor how long that was; 0 means
	// all of it.
	BusyCPU, BusyFor time.Duration
	// Processors is the number of processors that the generator could use.
	Processors int
	Traffic    Traffic
}

// sumUp completes a result whose counts are complete.
func (r *Result) sumUp() {
	r.Done = r.Latency.TotalCount() - r.Account.Unanswered - r.Account.NotSent
}

// Failed returns the number of requests whose answer was not a success, or that had none.
func (r *Result) Failed() int64 {
	var n int64
	for _, count := range r.Errors {
		n += count
	}
	return n
}

// errNoAnswer is the failure of requests for which patience ran out.
var errNoAnswer = errors.New("no answer in time after the end of the run")

// Run carries out a plan. When ctx ends it stops and returns what was measured so far.
func Run(ctx context.Context, p Plan) (*Result, error) {
	if err := checkPacer(p.Pacer); err != nil {
		return nil, err
	}
	if p.Patience < 0 || len(p.Lines) == 0 {
		return nil, errors.New("load: a plan needs a line, and a patience of at least 0")
	}
	p.Patience = cmp.Or(p.Patience, patience)
	if p.Poisson && p.Seed == 0 {
		p.Seed = rand.Uint64()
	}
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	r := &run{plan: p, ctx: ctx, rate: rate(p.Pacer), turn: make(chan struct{}, 1)}
	requests, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	r.requests = requests
	r.pacing.arrive = r.plan.arrivals()
	if p.Traffic == nil {
		r.plan.Traffic = func() Traffic { return Traffic{} }
	}
	r.before = r.plan.Traffic()
	r.tallies = make([]*tally, min(len(p.Lines), 2*runtime.GOMAXPROCS(0)))
	for i := range r.tallies {
		r.tallies[i] = &tally{counts: newCounts()}
	}
	unreachable := time.AfterFunc(cmp.Or(p.GiveUp, math.MaxInt64), func() { r.noConnection(giveUp) })
	connect(p.Lines, func(line Line) {
		_ = line.Connect(ctx) // a request that needs a connection makes it again, and fails with its error
	})
	unreachable.Stop()
	if err := r.begin(); err != nil {
		return nil, err
	}
	// Requests under way get a moment more after ctx has ended.
	detach := context.AfterFunc(ctx, func() {
		r.cpu.measure(r.start)
		r.stoppedAt(time.Now())
		time.AfterFunc(time.Second, func() { stop(nil) })
	})
	defer detach()
	told := r.tellIntervals()
	if p.GiveUp > 0 {
		defer r.watch(giveUp)()
	}
	ended := time.AfterFunc(time.Until(r.end), func() { r.cpu.measure(r.start) })
	defer ended.Stop()
	impatient := time.AfterFunc(time.Until(r.end)+p.Patience, func() { stop(errNoAnswer) })
	defer impatient.Stop()
	if p.Began != nil {
		p.Began(r.soFar)
	}
	defer r.pulse.begin(p.Lines)()
	var group sync.WaitGroup
	for i, line := range p.Lines {
		w := &Work{run: r, tally: r.tallies[i%len(r.tallies)]}
		group.Go(func() { line.Serve(requests, w) })
	}
	group.Wait()
	r.leaveRest()
	told()
	return r.result(), nil
}

// begin waits for the start, and leaves out what was due before the run began.
func (r *run) begin() error {
	r.start = time.Now()
	if r.plan.Ready != nil {
		start, err := r.plan.Ready(r.ctx)
		if err != nil {
			return fmt.Errorf("load: wait for the start: %w", err)
		}
		now := time.Now()
		r.start = now.Add(time.Until(start.Round(0))) // from here on, start is by this machine's monotonic clock
		r.skip(now.Sub(r.start))
	}
	_, lasts := r.plan.Pacer.Span()
	r.end = r.start.Add(lasts)
	r.cpu.before, _ = proc.CPU()
	return nil
}

// skip leaves out requests that were due before the beginning.
func (r *run) skip(late time.Duration) {
	all := r.pacing.arrive
	r.pacing.arrive = func() (due time.Duration, ok bool) {
		for due, ok = all(); ok && due < late; due, ok = all() {
		}
		r.pacing.arrive = all
		return due, ok
	}
}

// noConnection ends a run if none of the connections that were begun was made.
func (r *run) noConnection(giveUp context.CancelCauseFunc) {
	if n := r.plan.Traffic(); n.Tried > 0 && n.Connections == 0 {
		giveUp(fmt.Errorf("no connection was made in %v", r.plan.GiveUp))
	}
}

// watch ends a run in which nothing has answered for GiveUp since it began, or since this worker
// joined it. stop ends the watch.
func (r *run) watch(giveUp context.CancelCauseFunc) (stop func()) {
	var look *time.Timer
	known := make(chan struct{})
	look = time.AfterFunc(max(time.Until(r.start), 0)+r.plan.GiveUp, func() {
		<-known
		switch result := r.soFar(); {
		case result.Done == 0:
			r.noConnection(giveUp)
			look.Reset(time.Second)
		case len(result.Statuses) == 0 && result.Failed() == result.Done:
			giveUp(fmt.Errorf("nothing has answered in %v: %s", result.Elapsed.Round(time.Second), result.Reasons()[0]))
		}
	})
	close(known)
	return func() { look.Stop() }
}

// stoppedAt notes and returns when the run was interrupted.
func (r *run) stoppedAt(now time.Time) time.Time {
	r.pacing.Lock()
	defer r.pacing.Unlock()
	if r.pacing.stopped.IsZero() {
		r.pacing.stopped = now
	}
	return r.pacing.stopped
}

// leaveRest counts the requests that were due and that no line has taken.
func (r *run) leaveRest() {
	if !r.paced() {
		return
	}
	rest := &Work{run: r, tally: r.tallies[0]}
	now := time.Now()
	interrupted := r.ctx.Err() != nil
	if interrupted {
		now = r.stoppedAt(now)
	}
	for offset, ok := r.pacing.arrive(); ok; offset, ok = r.pacing.arrive() {
		due := r.start.Add(offset)
		if interrupted && due.After(now) {
			return
		}
		rest.notSent(due, now, "")
		r.pacing.planned++
	}
}

// connectors is the number of connections that are made at a time.
const connectors = 64

// connect calls one for each, some at a time, before the first request is due.
func connect[T any](all []T, one func(T)) {
	turn := make(chan struct{}, connectors)
	var group sync.WaitGroup
	for _, each := range all {
		turn <- struct{}{}
		group.Go(func() {
			one(each)
			<-turn
		})
	}
	group.Wait()
}

type run struct {
	plan       Plan
	rate       float64         // the mean, 0 for as many as the lines can carry
	ctx        context.Context // when it has ended, no more requests are taken
	requests   context.Context // and when this has, none is waited for
	start, end time.Time
	turn       chan struct{} // has an element while a line waits for the next request
	tallies    []*tally      // each shared by several lines

	before Traffic // over the connections of earlier runs
	pacing pacing
	pulse  pulse
	cpu    usage
}

// pacing is what lines take their requests from, one at a time.
type pacing struct {
	sync.Mutex
	arrive  func() (time.Duration, bool) // when the next request is due, after start
	planned int64                        // requests that were due, or without a rate were sent
	stopped time.Time                    // when the run was interrupted
}

func (r *run) paced() bool { return r.rate > 0 }

// usage is the generator's own CPU time: before the run, until the plan's end, and how long that
// was.
type usage struct {
	once              sync.Once
	before, busy, For time.Duration
}

// measure measures the plan itself, without the waiting at its end.
func (u *usage) measure(start time.Time) {
	u.once.Do(func() {
		u.For = time.Since(start)
		if cpu, known := proc.CPU(); known {
			u.busy = cpu - u.before
		} else {
			u.busy = -1
		}
	})
}

// soFar returns what was measured so far.
func (r *run) soFar() *Result {
	result := &Result{Counts: newCounts(), Rate: r.rate, Use: Use{Elapsed: max(0, time.Since(r.start)), CPU: -1, Processors: runtime.GOMAXPROCS(0)}}
	result.ended = r.start
	for _, t := range r.tallies {
		t.mu.Lock()
		result.add(&t.counts)
		t.mu.Unlock()
	}
	result.sumUp()
	result.Traffic = r.plan.Traffic()
	result.Traffic.add(r.before, -1)
	if cpu, known := proc.CPU(); known {
		result.CPU = cpu - r.cpu.before
	}
	return result
}

func (r *run) result() *Result {
	r.cpu.measure(r.start)
	result := r.soFar()
	result.Elapsed, result.Interrupted = result.ended.Sub(r.start), r.ctx.Err() != nil
	result.BusyFor, result.BusyCPU = r.cpu.For, r.cpu.busy
	lasts := r.end.Sub(r.start)
	if cause := context.Cause(r.ctx); result.Interrupted && !errors.Is(cause, context.Canceled) {
		result.GaveUp = cause.Error()
	}
	if result.Interrupted {
		result.Elapsed = max(result.Elapsed, r.cpu.For)
	} else {
		result.BusyFor = max(r.cpu.For, lasts) // all may have been answered before the plan's end
	}
	answered, span := result.Done, result.Elapsed
	if r.paced() {
		result.Planned = r.pacing.planned
		answered, span = result.Account.SentOnTime, lasts
		if result.Interrupted {
			// n requests take n intervals: the last is due one interval before the end.
			span = time.Duration(float64(r.pacing.planned) / r.rate * 1e9)
		}
	}
	if span > 0 {
		result.Achieved = float64(answered) / span.Seconds()
	}
	return result
}
