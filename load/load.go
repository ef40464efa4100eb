package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"postage/internal/proc"
)

// A Sender sends one request at a time and waits for the answer. It returns the answer's status, 0
// if there was no answer, and an error if the answer is not a success.
type Sender interface {
	Send(ctx context.Context) (status int, err error)
}

// A Line carries requests to the server, as many at a time as it has room for.
type Line interface {
	// Serve takes requests from w and reports the outcome of each, until there are no more. When
	// ctx ends it gives up those that are under way.
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
		group := -1
		if s, ok := l.Sender.(interface{ target() int }); ok {
			group = s.target()
		}
		w.done(group, due, free, status, err)
	}
}

// A selfPaced line itself waits until requests are due, and needs no pacer.
type selfPaced interface {
	Line
	pacesItself()
}

// Plan says which lines send requests, and when.
type Plan struct {
	// Rate is in requests a second; 0 is as many as the lines can carry.
	Rate float64
	// Poisson makes requests due at random, independent times, like those of many users. Without it
	// they are evenly spaced, which understates how long requests queue.
	Poisson bool
	// Seed is what these times are drawn from; 0 stands for a random seed.
	Seed uint64
	// Stages, if not empty, say how the rate changes. Rate is then their mean, and Duration their
	// sum.
	Stages []Stage
	// Dues, if not empty, are the times at which requests are due, counted from the start and
	// before Duration's end. Rate is then their mean.
	Dues []time.Duration
	// Told, if Every is not 0, is called with the answers of each interval of that length while the
	// plan lasts. Calls do not overlap.
	Every time.Duration
	Told  func(Interval)
	// GiveUp, if not 0, is after how long a run ends in which all requests so far have failed
	// without an answer's status.
	GiveUp time.Duration
	// Most, if not 0, is how many requests are sent without a rate.
	Most int64
	// Duration is the time in which requests become due. Those under way at its end are waited for.
	Duration time.Duration
	// Patience is how long they are waited for; 0 is 30 s. Requests that have no answer then have
	// failed.
	Patience time.Duration
	// Workers, if not 0, is the number of workers that share the plan. Worker is the number of this
	// one, which sends the requests k with k mod Workers = Worker.
	Worker, Workers int
	// Ready, if set, is called when connections are open, and returns when the first request is
	// due. Requests that were due before now are then left out.
	Ready func(ctx context.Context) (start time.Time, err error)
	// Began, if set, is called when the first request is due. The function soFar returns what was
	// measured so far; it may be called until the plan has ended.
	Began func(soFar func() *Result)
	// Lines carry requests at the same time.
	Lines []Line
	// Targets are the names of the requests' targets, as Pool has them.
	Targets []string
}

// backlog is how many due requests may wait for a line before their pacer waits too. That loses
// nothing: the times at which they are due are computed, not measured.
const backlog = 1 << 16

// patience is Plan.Patience where that is 0.
const patience = 30 * time.Second

// Result is what a run of a plan measured.
type Result struct {
	Rate float64 // asked for, 0 for none
	// Achieved is, at a rate, the requests a second that were sent on time, while the plan lasted;
	// without a rate, the answers a second.
	Achieved float64
	Planned  int64         // requests that were due, 0 where there was no rate
	onTime   int64         // those of them that were sent while the plan lasted
	Elapsed  time.Duration // from the first due to the last answer
	Done     int64         // answers, errors included
	// Unanswered is how many requests were due and had no answer when the plan was interrupted.
	// Latency counts each as at least as long as it had waited, except for those of a fleet's
	// worker that died.
	Unanswered int64
	Errors     map[string]int64
	Statuses   map[int]int64 // answers by their status: HTTP's, or gRPC's
	// Latency is the time from when a request was due, or sent if there was no rate, to its answer,
	// in nanoseconds. Errors are included.
	Latency *hdrhistogram.Histogram
	// Late is how late requests were sent although there was room for them, in nanoseconds.
	Late *hdrhistogram.Histogram
	// Sent and Received count the messages of gRPC streams. MessageLatency is the time, in
	// nanoseconds, from the sending of a message to its answer, or for a server stream from one
	// message to the next. It is nil if there were none.
	Sent, Received int64
	MessageLatency *hdrhistogram.Histogram
	// CPU is the generator's own user and system time; -1 if it is not known.
	CPU time.Duration
	// busyCPU is the part of CPU used while the plan lasted, and busyFor how long that was; 0 means
	// all of it.
	busyCPU, busyFor time.Duration
	// Processors is the number of processors that the generator could use.
	Processors int
	// NotSent is how many requests of a fleet no worker reported as sent in the end. Either they
	// were not sent, or their worker died before it could report them.
	NotSent int64
	fault   string // the worker of a fleet whose fault makes all latencies invalid
	// Targets has the figures of each of Plan.Targets.
	Targets []TargetResult
	// Interrupted says that the plan did not run to its end, GaveUp that this is because nothing
	// answered, and why.
	Interrupted bool
	GaveUp      string
}

// TargetResult is what was measured of one target: its answers, and how many of them failed. Its
// latencies are in microseconds.
type TargetResult struct {
	Name         string
	Done, Failed int64
	Latency      *hdrhistogram.Histogram
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
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	r := &run{plan: p, ctx: ctx, dues: make(chan time.Duration, backlog)}
	requests, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	r.requests = requests
	if p.Poisson {
		if p.Seed == 0 {
			p.Seed = rand.Uint64()
		}
		r.arrive = p.arrivals()
		r.arrival = r.arrive()
	}
	r.tallies = make([]*tally, min(len(p.Lines), 2*runtime.GOMAXPROCS(0)))
	for i := range r.tallies {
		r.tallies[i] = newTally()
		r.tallies[i].targets = make([]targetTally, len(p.Targets))
	}
	connect(ctx, p.Lines)
	r.start = time.Now()
	if p.Ready != nil {
		start, err := p.Ready(ctx)
		if err != nil {
			return nil, fmt.Errorf("load: wait for the start: %w", err)
		}
		now := time.Now()
		r.start = now.Add(time.Until(start.Round(0))) // from here on, start is by this machine's monotonic clock
		if late := now.Sub(r.start); late > 0 {
			r.skip(late)
		}
	}
	cpu, _ := proc.CPU()
	r.cpuBefore = cpu
	r.end = r.start.Add(p.Duration)
	// Requests under way get a moment more after ctx has ended.
	detach := context.AfterFunc(ctx, func() {
		r.measureBusy()
		time.AfterFunc(time.Second, func() { stop(nil) })
	})
	defer detach()
	told := r.tellIntervals()
	if p.GiveUp > 0 {
		var look *time.Timer
		look = time.AfterFunc(time.Until(r.start)+p.GiveUp, func() {
			switch so := r.soFar(); {
			case so.Done == 0:
				look.Reset(time.Second)
			case len(so.Statuses) == 0 && so.Failed() == so.Done:
				giveUp(fmt.Errorf("nothing has answered in %v: %s", so.Elapsed.Round(time.Second), slices.MaxFunc(slices.Collect(maps.Keys(so.Errors)), func(a, b string) int {
					return cmp.Or(cmp.Compare(so.Errors[a], so.Errors[b]), cmp.Compare(a, b))
				})))
			}
		})
		defer look.Stop()
	}
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
		go pace() // what the lines have not taken
	}
	// Requests that no line has taken are unanswered too.
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

// connectors is the number of connections that are made at a time.
const connectors = 64

// connect connects all lines before the first request is due. It reports no errors: a request that
// needs a connection makes it again, and fails with its error.
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

// run is the state of one call of Run.
type run struct {
	plan       Plan
	ctx        context.Context // when it has ended, no more requests are taken
	requests   context.Context // and when this has, none is waited for
	start, end time.Time
	dues       chan time.Duration // when requests are due, after start; each is sent at that time
	tallies    []*tally           // each shared by several lines
	pacing     sync.Mutex         // guards planned and skipped where lines pace themselves
	planned    int64              // requests that were due; belongs to the pacer
	skipped    int64              // requests that were due before the run began
	cpuBefore  time.Duration
	arrive     func() float64 // arrivals of a Poisson plan, and the first that is not handed out
	arrival    float64

	taken   atomic.Int64 // requests, without a rate
	busy    sync.Once
	busyCPU time.Duration // CPU time used until the plan's end
	busyFor time.Duration // and how long that was
}

// measureBusy measures the plan itself, without the waiting at its end.
func (r *run) measureBusy() {
	r.busy.Do(func() {
		if cpu, known := proc.CPU(); known {
			r.busyCPU, r.busyFor = cpu, time.Since(r.start)
		}
	})
}

// soFar returns what was measured so far.
func (r *run) soFar() *Result {
	sum := newTally()
	sum.ended = r.start
	for _, t := range r.tallies {
		sum.add(t)
	}
	result := &Result{
		Rate: r.plan.Rate, onTime: sum.onTime, Elapsed: max(0, time.Since(r.start)), Done: sum.latency.TotalCount() - sum.unanswered,
		Unanswered: sum.unanswered, Errors: sum.reasons(), Statuses: sum.statuses, Latency: sum.latency, Late: sum.late,
		Sent: sum.sent, Received: sum.received, MessageLatency: sum.messages, Targets: sum.results(r.plan.Targets),
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
		Sent: sum.sent, Received: sum.received, MessageLatency: sum.messages, Targets: sum.results(r.plan.Targets),
		busyFor: r.busyFor, busyCPU: r.busyCPU - cpuBefore,
		Processors: runtime.GOMAXPROCS(0), Interrupted: r.ctx.Err() != nil,
	}
	if cause := context.Cause(r.ctx); result.Interrupted && !errors.Is(cause, context.Canceled) {
		result.GaveUp = cause.Error()
	}
	if cpu, known := proc.CPU(); known {
		result.CPU = cpu - cpuBefore
	}
	if result.Interrupted {
		result.Elapsed = max(result.Elapsed, r.busyFor)
	} else {
		result.busyFor = max(r.busyFor, r.plan.Duration) // all may have been answered before the plan's end
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
