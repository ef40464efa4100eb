package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"postage/internal/proc"
	"postage/internal/stats"
	"postage/record"
)

// ServeWorker is the main function of a worker process: it takes requests from the conductor until
// it is told to close. It returns an error only if the protocol broke; a contender's failure is
// reported to the conductor. When the conductor is gone the process exits at once, whatever its
// contender is doing.
func ServeWorker(ctx context.Context, suites []Suite, stdin io.Reader, stdout io.Writer) error {
	go proc.EndWithParent()
	w := &worker{suites: suites}
	if counter, err := proc.OpenInstructions(); err == nil {
		w.instructions = counter
		defer counter.Close()
	}
	err := proc.Serve(stdin, stdout, nil, func(question json.RawMessage) (any, error) {
		var r request
		if err := json.Unmarshal(question, &r); err != nil {
			return nil, err
		}
		return w.answer(ctx, r)
	})
	if err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	return nil
}

// worker is the state of a worker process.
type worker struct {
	suites   []Suite
	instance Instance
	// goroutines is their number before the contender was opened.
	goroutines int
	value      record.Value // of the case: how a block's times are made into one
	count      int          // of pieces of a batch
	warm       bool         // what is run from now on counts
	pieces     pieces
	heap       heap
	// instructions are counted where the machine does, else nil.
	instructions *proc.Instructions
}

// answer does what a request asks for. A panic of the contender is an error.
func (w *worker) answer(ctx context.Context, r request) (answer reply, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in %s: %v%s", r.Op, p, panicSite(debug.Stack()))
		}
	}()
	switch r.Op {
	case opOpen:
		return w.open(ctx, r)
	case opPopulate:
		populate(r.Bytes)
		return reply{}, nil
	case opCalibrate:
		return w.calibrate(time.Duration(r.TargetNS))
	case opWarm:
		w.count = r.Pieces
		err := warm(ctx, r, w)
		w.warm = true
		w.latencies()
		return reply{}, err
	case opRun:
		b, err := w.Batch(ctx, r.N)
		return reply{Batch: b}, err
	case opPlain:
		b, err := w.plain(r.N)
		return reply{Batch: b}, err
	case opSelf:
		overhead, err := overheadNS()
		return reply{OverheadNS: overhead}, err
	case opClose:
		return w.close()
	}
	return reply{}, fmt.Errorf("%s %q", unknownRequest, r.Op)
}

func (w *worker) open(ctx context.Context, r request) (reply, error) {
	e, ok := entry(w.suites, r.Row)
	if !ok {
		return reply{}, fmt.Errorf("%s %q", noSuchRow, r.Row)
	}
	w.goroutines = runtime.NumGoroutine()
	instance, err := e.Contender.Open(ctx, Env{Seed: r.Seed})
	if err != nil {
		return reply{}, fmt.Errorf("open: %w", err)
	}
	if w.instance, w.value = instance, e.Case.Value; w.value == "" || w.value == record.ValueCost {
		w.heap.goroutines = w.goroutines
	}
	if err := instance.Prove(ctx); err != nil {
		return reply{}, fmt.Errorf("proof: %w", err)
	}
	var answer reply
	if m, ok := instance.(Metered); ok {
		answer.Metrics = m.Metrics()
	}
	return answer, nil
}

func (w *worker) calibrate(target time.Duration) (reply, error) {
	least := 1
	if s, ok := w.instance.(Sized); ok {
		least = s.MinOps()
	}
	n, err := calibrate(target, least, w.value, func(n int) (*Batch, error) { return timed(w.instance, n, nil, nil, nil) })
	if err != nil {
		return reply{}, err
	}
	again := cycle(w.instance)
	if runtime.GOMAXPROCS(0) > 1 || again > 0 && w.hasOthers(n) {
		return reply{N: n}, nil
	}
	n, count := inPieces(n, again, DefaultRounds)
	if count == 0 {
		return reply{N: n}, nil
	}
	var p pieces // fast ones are found even while something else disturbs every batch
	for range calibrating {
		if _, err := timed(w.instance, n, func(start time.Time) error { return p.run(w.instance, n, count, start) }, nil, nil); err != nil {
			return reply{}, err
		}
		p.keep(n, count, again, true)
	}
	if fast := p.fast(count); fast > 0 {
		n, count = inPieces(fitting(n, least, target, fast), again, DefaultRounds)
	}
	return reply{N: n, Pieces: count, Rounds: roundsOf(n, count, again)}, nil
}

// hasOthers reports whether a batch of the contender has other goroutines do some of the work,
// which the clock readings between its pieces would not show.
func (w *worker) hasOthers(n int) bool {
	samples := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}, {Name: "/sched/latencies:seconds"}, {Name: "/gc/cycles/total:gc-cycles"}}
	read := func() (created, scheduled, collections uint64) {
		metrics.Read(samples)
		for _, count := range samples[1].Value.Float64Histogram().Counts {
			scheduled += count
		}
		return samples[0].Value.Uint64(), scheduled, samples[2].Value.Uint64()
	}
	for range calibrating {
		created, scheduled, collections := read()
		for range mostPieces {
			if w.instance.Run(max(1, n/mostPieces)) != nil {
				return false // the next batch says so
			}
		}
		createdAfter, scheduledAfter, collectionsAfter := read()
		if collectionsAfter == collections { // collecting has goroutines of its own
			return createdAfter > created || scheduledAfter > scheduled+othersSeen
		}
	}
	return false
}

// othersSeen is how many times goroutines may be scheduled in a batch by chance. One in eight is
// counted.
const othersSeen = 2

// calibrating is how many batches find out how many operations one should have. Where the mean of
// all batches is the value, single ones differ by a fifth, and it takes as many as fill
// calibratingMean.
const (
	calibrating     = 5
	calibratingMean = 250 * time.Millisecond
)

// mostOperations of a batch.
const mostOperations = 1 << 30

// fitting is the number of operations, at least so many, that take the target time where n took
// elapsed.
func fitting(n, least int, target, elapsed time.Duration) int {
	return min(mostOperations, max(least, int(float64(n)*float64(target)/float64(elapsed))))
}

// cycle is the instance's, 0 if it has none.
func cycle(i Instance) int {
	if c, ok := i.(Cyclic); ok {
		return c.Cycle()
	}
	return 0
}

// calibrate finds the number of operations, at least so many, that take the target time once their
// process is warm. Contenders are to have batches of the same time: each begins with cold caches.
func calibrate(target time.Duration, least int, value record.Value, run func(n int) (*Batch, error)) (int, error) {
	// The fastest of some: a batch that was interrupted would pass for a long one.
	fastest := func(n, tries int, enough time.Duration) (time.Duration, error) {
		elapsed := time.Duration(math.MaxInt64)
		for try := 0; try < tries && elapsed >= enough; try++ {
			b, err := run(n)
			if err != nil {
				return 0, err
			}
			elapsed = min(elapsed, max(1, time.Duration(b.WallNS)))
			if elapsed > 4*target && n == least {
				break
			}
		}
		return elapsed, nil
	}
	n := least
	for n < mostOperations {
		elapsed, err := fastest(n, 3, target/2)
		if err != nil {
			return 0, err
		}
		if elapsed > 4*target && n == least {
			return n, nil
		}
		if elapsed >= target/2 {
			n = fitting(n, least, target, elapsed)
			break
		}
		// No more than tenfold at a time: the first operations are slower than the rest.
		n = min(mostOperations, n*min(10, max(2, int(target/elapsed))))
	}
	var elapsed time.Duration
	var err error
	if value == record.ValueWall {
		elapsed, err = meanOf(max(calibrating, int(calibratingMean/target)), func() (*Batch, error) { return run(n) })
	} else {
		elapsed, err = fastest(n, calibrating, 0)
	}
	if err != nil {
		return 0, err
	}
	// No further, in case an operation takes longer the more there are.
	return min(2*n, fitting(n, least, target, elapsed)), nil
}

// meanOf is the geometric mean of so many batches' times.
func meanOf(batches int, run func() (*Batch, error)) (time.Duration, error) {
	logs := 0.0
	for range batches {
		b, err := run()
		if err != nil {
			return 0, err
		}
		logs += math.Log(float64(max(1, b.WallNS)))
	}
	return time.Duration(math.Exp(logs / float64(batches))), nil
}

// Batch runs n operations.
func (w *worker) Batch(_ context.Context, n int) (*Batch, error) {
	if w.count < 2 {
		b, err := timed(w.instance, n, nil, &w.heap, w.instructions)
		if err == nil {
			w.heap.steer(b)
		}
		return b, err
	}
	b, err := timed(w.instance, n, func(start time.Time) error { return w.pieces.run(w.instance, n, w.count, start) }, &w.heap, w.instructions)
	if err == nil {
		w.pieces.keep(n, w.count, cycle(w.instance), w.warm)
		w.heap.steer(b)
	}
	return b, err
}

// Collect collects garbage, and uses up a part of the heap's next cycle.
func (w *worker) Collect(_ context.Context, part float64) error {
	w.heap.begin(part)
	return nil
}

// timed runs one batch and measures it. Everything but Run is outside of the wall time. The CPU
// time includes the rest of a collection that the batch began, which otherwise would run beside the
// next contender's batch. run runs it, else instance.Run;
// run, heap and instructions may be nil.
func timed(instance Instance, n int, run func(time.Time) error, heap *heap, instructions *proc.Instructions) (*Batch, error) {
	if err := prepare(instance); err != nil {
		return nil, err
	}
	counted, _ := instance.(Counted)
	var before map[string]float64
	var err error
	if counted != nil {
		if before, err = counted.Counters(); err != nil {
			return nil, fmt.Errorf("counters: %w", err)
		}
	}
	var memBefore, memAfter runtime.MemStats
	runtime.ReadMemStats(&memBefore)
	var executedBefore, executed int64
	counting := instructions != nil
	if counting {
		executedBefore, counting = instructions.Count()
	}
	cpuBefore, cpuKnown := proc.CPUOfCode()

	start := time.Now()
	if run == nil {
		err = instance.Run(n)
	} else {
		err = run(start)
	}
	wall := time.Since(start)

	awaitCollection()
	if heap != nil && heap.goroutines > 0 && runtime.NumGoroutine() > heap.goroutines {
		settle()
	}
	cpuAfter, _ := proc.CPUOfCode()
	if counting {
		executed, counting = instructions.Count()
	}
	runtime.ReadMemStats(&memAfter)
	if err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	b := &Batch{
		WallNS: max(1, wall.Nanoseconds()),
		CPUNS:  -1,
		Allocs: int64(memAfter.Mallocs - memBefore.Mallocs),
		Bytes:  int64(memAfter.TotalAlloc - memBefore.TotalAlloc),

		Collections: int64(memAfter.NumGC - memBefore.NumGC),
		Counters:    map[string]float64{},
	}
	if counting {
		b.Counters[record.Instructions] = float64(executed - executedBefore)
	}
	if cpuKnown {
		b.CPUNS = (cpuAfter - cpuBefore).Nanoseconds()
	}
	if counted != nil {
		after, err := counted.Counters()
		if err != nil {
			return nil, fmt.Errorf("counters: %w", err)
		}
		for name, value := range after {
			b.Counters[name] = value - before[name]
		}
	}
	return b, nil
}

// prepare has the contender do what it wants done before a batch.
func prepare(instance Instance) error {
	if p, ok := instance.(Prepared); ok {
		if err := p.Prepare(); err != nil {
			return fmt.Errorf("prepare: %w", err)
		}
	}
	return nil
}

// close releases the contender and finds out whether it left goroutines behind.
func (w *worker) close() (answer reply, err error) {
	if w.instance == nil {
		return answer, nil
	}
	answer.CollectionBytes, answer.FastNS = cycleBytes(), w.pieces.fast(w.count).Nanoseconds()
	if h := w.latencies(); h != nil {
		text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			return answer, fmt.Errorf("latencies: %w", err)
		}
		answer.Latency = string(text)
	}
	if err := w.instance.Close(); err != nil {
		return answer, fmt.Errorf("close: %w", err)
	}
	// Goroutines that were told to end may need a moment.
	for wait := time.Millisecond; runtime.NumGoroutine() > w.goroutines; wait *= 2 {
		if wait > 2*time.Second { // four seconds in all
			return answer, fmt.Errorf("leak: %d goroutines are left after Close%s",
				runtime.NumGoroutine()-w.goroutines, leakSite())
		}
		time.Sleep(wait)
	}
	return answer, nil
}

// latencies takes what the contender has kept of latencies, nil if it keeps none.
func (w *worker) latencies() *hdrhistogram.Histogram {
	if d, ok := w.instance.(Distributed); ok {
		return d.Latencies()
	}
	return nil
}

// leakSite says where the youngest goroutine was made.
func leakSite() string {
	const made = "created by "
	stacks := make([]byte, 1<<16)
	text := string(stacks[:runtime.Stack(stacks, true)])
	i := strings.LastIndex(text, made)
	if i < 0 {
		return ""
	}
	site, _, _ := strings.Cut(text[i+len(made):], " in goroutine")
	return ", such as one made by " + site
}

// panicSite finds in a stack the file and line that panicked.
func panicSite(stack []byte) string {
	_, after, found := strings.Cut(string(stack), "panic(")
	if !found {
		return ""
	}
	for line := range strings.Lines(after) {
		file := strings.TrimSpace(line)
		if !strings.HasPrefix(line, "\t") || strings.Contains(file, "/runtime/") {
			continue
		}
		file, _, _ = strings.Cut(file, " ")
		// Where the source lay when it was compiled says nothing to a reader.
		return ", at " + path.Join(path.Base(path.Dir(file)), path.Base(file))
	}
	return ""
}

// overheadNS is what an operation costs more in the instrument than in a bare loop:
// batches of a contender that does nothing, measured like any other's, against the
// same loop with a clock around it.
func overheadNS() (float64, error) {
	const n, times = 10_000, 101
	var through, bare []float64
	for range times {
		b, err := timed(empty{}, n, nil, nil, nil)
		if err != nil {
			return 0, err
		}
		through = append(through, float64(b.WallNS)/n)
		start := time.Now()
		for range n {
			nothing()
		}
		bare = append(bare, float64(time.Since(start).Nanoseconds())/n)
	}
	return stats.Median(through) - stats.Median(bare), nil
}

// empty is a contender that does nothing.
type empty struct{}

var _ Instance = empty{}

func (empty) Prove(context.Context) error { return nil }
func (empty) Close() error                { return nil }
func (empty) Run(n int) error {
	for range n {
		nothing()
	}
	return nil
}

//go:noinline
func nothing() {}
