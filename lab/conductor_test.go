package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"postage/internal/sys/machine"
	"postage/internal/sys/proc"
	"postage/internal/verdict"
	"postage/record"
)

// The test program is its own worker, as postage is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		out := os.Stdout
		os.Stdout = os.Stderr
		suites := testSuites()
		if len(os.Args) > 2 {
			suites = oldSuites()
		}
		if err := ServeWorker(context.Background(), suites, os.Stdin, out); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// work is a contender for tests: what is nil does nothing.
type work struct {
	prove func() error
	run   func(n int) error
	close func() error
}

func (w *work) Prove(context.Context) error {
	if w.prove != nil {
		return w.prove()
	}
	return nil
}

func (w *work) Run(n int) error {
	if w.run != nil {
		return w.run(n)
	}
	spin(n)
	return nil
}

func (w *work) Close() error {
	if w.close != nil {
		return w.close()
	}
	return nil
}

// counted has a metric, a counter and latencies: 7 bytes and 1000 ns an operation.
type counted struct {
	work
	sent      float64
	latencies *hdrhistogram.Histogram
}

func (c *counted) Metrics() map[string]float64 { return map[string]float64{"encoded-bytes": 377} }
func (c *counted) Counters() (map[string]float64, error) {
	return map[string]float64{"wire-out-B/op": c.sent}, nil
}

func (c *counted) Run(n int) error {
	c.sent += 7 * float64(n)
	if err := c.latencies.RecordValues(1000, int64(n)); err != nil {
		return err
	}
	return c.work.Run(n)
}

func (c *counted) Latencies() *hdrhistogram.Histogram {
	taken := hdrhistogram.Import(c.latencies.Export())
	c.latencies.Reset()
	return taken
}

// sometimes has a counter in two of three calls.
type sometimes struct {
	work
	asked int
}

func (s *sometimes) Counters() (map[string]float64, error) {
	if s.asked++; s.asked%3 == 0 {
		return nil, nil
	}
	return map[string]float64{"things/op": 1}, nil
}

// where counts the processor that it is on, once an operation.
type where struct {
	work
	sum float64
}

func (w *where) Counters() (map[string]float64, error) {
	return map[string]float64{"processor/op": w.sum}, nil
}

func (w *where) Run(n int) error {
	text, err := os.ReadFile("/proc/thread-self/stat")
	if fields := strings.Fields(string(text)); len(fields) > 38 { // proc(5)
		processor, _ := strconv.Atoi(fields[38])
		w.sum += float64(n * processor)
	}
	spin(n)
	return err
}

// allocating allocates. It counts pages that the system gave its process anew, and tells after each
// batch how often the process has collected since it began.
type allocating struct {
	work
	kept []byte
	ran  bool
}

func (a *allocating) Prepare() error { a.ran = false; return nil }

func (a *allocating) Counters() (map[string]float64, error) {
	text, err := os.ReadFile("/proc/self/stat")
	fields := strings.Fields(string(text))
	if len(fields) < 10 { // proc(5)
		return nil, err
	}
	faults, err := strconv.ParseFloat(fields[9], 64)
	collected := 0.0
	if a.ran { // else it is what is taken from it
		collected = float64(metric(collections))
	}
	return map[string]float64{"faults/op": faults, "collections": collected}, err
}

func (a *allocating) Run(n int) error {
	a.ran = true
	for range n {
		a.kept = make([]byte, 256)
		spin(5000)
	}
	return nil
}

// sized wants batches of at least 8 operations.
type sized struct{ work }

func (*sized) MinOps() int { return 8 }

// spin does work that waits for nothing but itself: each step takes as long, wherever the code lies
// and whatever runs on the core's other half.
func spin(n int) {
	x := spun.Load()
	for range n {
		x = x*6364136223846793005 + 1442695040888963407
	}
	spun.Store(x)
}

var spun atomic.Uint64

func contender(name string, w func() *work) Contender {
	return Contender{Name: name, Checks: "nothing", Open: func(context.Context, Env) (Instance, error) { return w(), nil }}
}

func sound() *work { return &work{} }

// late works through the calibration, which takes the same n six times at most, and the warm-up,
// and does its harm in the seventh batch that is alike, in the middle of a block.
func late(harm func() error) func() *work {
	return func() *work {
		w := &work{}
		last, alike := 0, 0
		w.run = func(n int) error {
			if n != last {
				last, alike = n, 0
			}
			if alike++; alike == 7 {
				if err := harm(); err != nil {
					return err
				}
			}
			spin(n)
			return nil
		}
		return w
	}
}

// testSuites has a contender for everything that can go wrong.
func testSuites() []Suite {
	return []Suite{{Stage: "test", Cases: []Case{
		{Name: "Test/op=faults", Doc: "?", Baseline: "is=base", Contenders: []Contender{
			contender("is=base", sound),
			contender("is=sound", sound),
			contender("is=panicking", late(func() error { panic("boom") })),
			contender("is=crashing", late(func() error {
				go func() { panic("boom in a goroutine") }()
				time.Sleep(time.Minute)
				return nil
			})),
			contender("is=exiting", late(func() error { os.Exit(5); return nil })),
			contender("is=hanging", late(func() error { select {} })),
			contender("is=failing", late(func() error { return errors.New("connection refused") })),
			contender("is=verbose", late(func() error { return errors.New("a log: " + strings.Repeat("\x00", 100_000)) })),
			contender("is=wrong", func() *work { return &work{prove: func() error { return errors.New("decoded 7, want 8") }} }),
			contender("is=proof-panicking", func() *work { return &work{prove: func() error { panic("no proof") }} }),
			contender("is=leaking", func() *work {
				return &work{prove: func() error { go func() { select {} }(); return nil }}
			}),
			contender("is=unclosable", func() *work { return &work{close: func() error { return errors.New("still in use") }} }),
			contender("is=talkative", func() *work {
				return &work{prove: func() error { fmt.Println(`{"n":1}`); return nil }}
			}),
			{Name: "is=unopened", Checks: "nothing", Open: func(context.Context, Env) (Instance, error) { return nil, errors.New("no such file") }},
			{Name: "is=impossible", NotPossible: "RFC 0 forbids it: " + strings.Repeat("x", 100_000)},
			{Name: "is=sometimes", Checks: "nothing", Open: func(context.Context, Env) (Instance, error) { return &sometimes{}, nil }},
			{Name: "is=floor", Floor: true, Checks: "nothing", Open: func(context.Context, Env) (Instance, error) { return sound(), nil }},
		}},
		{Name: "Test/op=baseless", Doc: "?", Baseline: "is=base", Contenders: []Contender{
			contender("is=base", func() *work { return &work{prove: func() error { return errors.New("bad base") }} }),
			contender("is=sound", sound),
		}},
		{Name: "Test/op=plain", Doc: "?", Headline: true, Baseline: "is=base", Contenders: []Contender{
			contender("is=base", sound),
			contender("is=eightfold", func() *work {
				return &work{run: func(n int) error { spin(8 * n); return nil }}
			}),
			{Name: "is=counted", Checks: "nothing", Open: func(context.Context, Env) (Instance, error) {
				return &counted{latencies: hdrhistogram.New(1, 1e9, 3)}, nil
			}},
		}},
		{Name: "Test/op=where", Doc: "?", Baseline: "is=base", Contenders: []Contender{
			{Name: "is=base", Checks: "nothing", Open: func(context.Context, Env) (Instance, error) { return &where{}, nil }},
			{Name: "is=other", Checks: "nothing", Open: func(context.Context, Env) (Instance, error) { return &where{}, nil }},
		}},
		{Name: "Test/op=memory", Doc: "?", Baseline: "is=base", Contenders: []Contender{
			{Name: "is=base", Checks: "nothing", Open: func(context.Context, Env) (Instance, error) { return &allocating{}, nil }},
		}},
		{Name: "Test/op=slow", Doc: "?", Baseline: "is=base", Contenders: []Contender{
			contender("is=base", func() *work {
				return &work{run: func(int) error { time.Sleep(100 * time.Millisecond); return nil }}
			}),
			{Name: "is=sized", Checks: "nothing", Open: func(context.Context, Env) (Instance, error) {
				return &sized{work{run: func(int) error { time.Sleep(20 * time.Millisecond); return nil }}}, nil
			}},
		}},
	}}}
}

func testConductor(t *testing.T) *Conductor {
	t.Helper()
	command, err := proc.Self("worker")
	if err != nil {
		t.Fatal(err)
	}
	return &Conductor{Command: command, SetUpPatience: time.Minute, BatchPatience: 5 * time.Second}
}

// measured runs the rows that the patterns select.
func measured(t *testing.T, c *Conductor, budget time.Duration, patterns ...string) *record.Record {
	t.Helper()
	entries, rec := prepared(t, budget, patterns...)
	if err := c.Run(context.Background(), entries, rec); err != nil {
		t.Fatal(err)
	}
	return rec
}

func prepared(t *testing.T, budget time.Duration, patterns ...string) ([]Entry, *record.Record) {
	t.Helper()
	entries, err := Select(testSuites(), patterns)
	if err != nil {
		t.Fatal(err)
	}
	return entries, NewRecord(Plan{Entries: entries}, record.Run{Seed: 7, Precision: 0.5, Budget: budget, GOMAXPROCS: 1}, machine.Read(0))
}

// A contender that breaks loses its own row, with the reason, and no other.
func TestFaultsStayInTheirRow(t *testing.T) {
	t.Parallel()
	rec := measured(t, testConductor(t), 90*time.Second, "op=faults")
	reasons := map[string]string{
		"is=panicking":       "panic in run: boom, at lab/conductor_test.go:",
		"is=crashing":        "panic: boom in a goroutine",
		"is=exiting":         "exit status 5",
		"is=hanging":         "hang: no answer to run within ",
		"is=failing":         "run: connection refused",
		"is=verbose":         "run: a log: ",
		"is=wrong":           "proof: decoded 7, want 8",
		"is=proof-panicking": "panic in open: no proof, at lab/conductor_test.go:",
		"is=leaking":         "leak: 1 goroutines are left after Close",
		"is=unclosable":      "close: still in use",
		"is=unopened":        "open: no such file",
		"is=impossible":      "not possible: RFC 0 forbids it",
	}
	// What a contender says of itself does not make the record unreadable.
	file := filepath.Join(t.TempDir(), "r.txt")
	if err := rec.Save(file); err != nil {
		t.Fatal(err)
	}
	if _, err := record.Load(file); err != nil {
		t.Error(err)
	}
	analysis := verdict.Analyze(rec)
	for _, r := range analysis.Cases[0].Rows {
		want, broken := reasons[r.Row.Contender]
		switch {
		case broken && r.NSOp != nil:
			t.Errorf("%s: has figures", r.Row.Contender)
		case broken && !strings.Contains(string(r.Row.Proof), want):
			t.Errorf("%s: proof is %q, want %q in it", r.Row.Contender, r.Row.Proof, want)
		case r.Row.Contender == "is=sometimes" && (len(r.Row.Warnings) != 1 || !strings.HasPrefix(r.Row.Warnings[0], "things/op is left out")):
			t.Errorf("%s: warnings %q", r.Row.Contender, r.Row.Warnings)
		case !broken && (r.NSOp == nil || r.Blocks < 6):
			t.Errorf("%s: lost its figures: proof %q, %d blocks", r.Row.Contender, r.Row.Proof, r.Blocks)
		}
	}
}

// A case whose operations are known to take long has the patience for them, from the first one on.
func TestPatienceIsOfTheCase(t *testing.T) {
	t.Parallel()
	c := testConductor(t)
	c.SetUpPatience, c.BatchPatience = time.Minute, 50*time.Millisecond
	entries, rec := prepared(t, 10*time.Second, "op=slow/is=base")
	for i := range entries {
		entries[i].Case.Batch = 100 * time.Millisecond
	}
	if err := c.Run(t.Context(), entries, rec); err != nil {
		t.Fatal(err)
	}
	for _, row := range rec.Rows {
		if !row.OK() {
			t.Errorf("%s: %s", row.Name, row.Proof)
		}
	}
}

func TestBaselineFails(t *testing.T) {
	rec := measured(t, testConductor(t), time.Minute, "op=baseless")
	c := verdict.Analyze(rec).Cases[0]
	for _, r := range c.Rows {
		switch r.Row.Contender {
		case "is=sound":
			if r.NSOp == nil || r.Ratio != nil || r.Verdict != "undecided" {
				t.Errorf("is=sound: time %v, ratio %v, verdict %s", r.NSOp, r.Ratio, r.Verdict)
			}
		default:
			if r.NSOp != nil || !strings.Contains(string(r.Row.Proof), "bad base") {
				t.Errorf("%s: time %v, proof %q", r.Row.Contender, r.NSOp, r.Row.Proof)
			}
		}
	}
}

func TestMeasuresWhatIsThere(t *testing.T) {
	rec := measured(t, testConductor(t), time.Minute, "op=plain")
	if !rec.Run.Complete || rec.Duty() <= 0 || rec.Duty() >= 1 {
		t.Errorf("run: %+v", rec.Run)
	}
	counter, err := proc.OpenInstructions()
	if err != nil {
		t.Logf("no instructions: %v", err)
	} else if err := counter.Close(); err != nil {
		t.Error(err)
	}
	for _, r := range verdict.Analyze(rec).Cases[0].Rows {
		// The counter may be lost to others meanwhile, on a machine that has it.
		if r.InstructionsOp != nil && (err != nil || r.InstructionsOp.Value <= 0) || r.InstructionsOp == nil && err == nil {
			t.Errorf("%s: instructions %+v", r.Row.Contender, r.InstructionsOp)
		}
		if r.Row.Contender == "is=counted" {
			if m := r.Metrics; m["encoded-bytes"] != 377 || m["wire-out-B/op"] != 7 || m["p99-ns"] < 1000 || m["max-ns"] > 1001 {
				t.Errorf("is=counted: %v", m)
			}
			var total, want int64
			for _, b := range rec.Blocks {
				series := b.Of(r.Row.Name)
				if series == nil {
					continue // it sat out
				}
				h, err := record.Latencies(series)
				if err != nil {
					t.Fatal(err)
				}
				total += h.TotalCount()
				want += int64(len(series.WallNS) * r.Row.N)
			}
			if total != want {
				t.Errorf("is=counted: %d latencies of %d timed operations", total, want)
			}
		}
		if r.Row.Contender != "is=eightfold" {
			continue
		}
		// No time is asserted, only that eight times the work is not taken for the same.
		if r.Ratio.Value < 2 {
			t.Errorf("eight times the work came out as %+v", r.Ratio)
		}
	}
	// Every contender had each place in a round at some time, and the control has as
	// many operations in a batch as the baseline.
	if rec.Rows[0].N != rec.Rows[1].N || rec.Rows[1].Role != "control" {
		t.Errorf("baseline n %d, %s n %d", rec.Rows[0].N, rec.Rows[1].Role, rec.Rows[1].N)
	}
	places := map[int]bool{}
	for _, b := range rec.Blocks {
		for _, p := range b.Series[0].Position {
			places[p] = true
		}
	}
	if len(places) != len(rec.Rows) {
		t.Errorf("the baseline had only the places %v of %d", places, len(rec.Rows))
	}
}

// The workers of a block are on one processor, which is not always the same.
func TestBlockIsOnOneProcessor(t *testing.T) {
	all, err := proc.Processors()
	if err != nil {
		t.Skip(err)
	}
	rec := measured(t, testConductor(t), time.Minute, "op=where")
	used := map[float64]bool{}
	for _, b := range rec.Blocks {
		for _, s := range b.Series {
			for _, sum := range s.Counters["processor/op"] {
				on := sum / float64(rec.Row(s.Row).N)
				if first := b.Series[0].Counters["processor/op"][0] / float64(rec.Row(b.Series[0].Row).N); on != first {
					t.Fatalf("block %d: %s was on processor %v, and %s on %v", b.Number, s.Row, on, b.Series[0].Row, first)
				}
				used[on] = true
			}
		}
	}
	if len(all) > 1 && len(used) < 2 {
		t.Errorf("%d blocks were on %v of %v", len(rec.Blocks), used, all)
	}
}

// Batches use memory that their process has used before, as a service does that has run for a
// while.
func TestBatchesUseMemoryAgain(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("counts page faults in /proc")
	}
	rec := measured(t, testConductor(t), time.Minute, "op=memory")
	var faults, pages float64
	for _, b := range rec.Blocks {
		for _, s := range b.Series {
			for i, n := range s.Counters["faults/op"] {
				faults += n
				pages += float64(s.Bytes[i]) / 4096
			}
		}
	}
	t.Logf("%.0f page faults for %.0f pages", faults, pages)
	if pages < 1000 || faults > 0.15*pages {
		t.Error("batches use new memory")
	}
}

// children counts the processes that the test process has.
func children(t *testing.T) int {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("counts child processes in /proc")
	}
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(lists) == 0 {
		t.Skip("this kernel does not list child processes")
	}
	n := 0
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		n += len(strings.Fields(string(text)))
	}
	return n
}

func TestInterruptKeepsFinishedBlocks(t *testing.T) {
	entries, rec := prepared(t, time.Minute, "op=plain")
	rec.Run.Precision = 1e-9 // never done
	ctx, cancel := context.WithCancel(context.Background())
	c := testConductor(t)
	c.Observe = func(s Status) {
		if s.Block == 3 && s.Round == 2 {
			cancel()
		}
	}
	if err := c.Run(ctx, entries, rec); !errors.Is(err, ErrInterrupted) {
		t.Fatalf("err = %v", err)
	}
	if len(rec.Blocks) != 2 || rec.Run.Complete {
		t.Errorf("%d blocks, complete %v; want the 2 finished ones, false", len(rec.Blocks), rec.Run.Complete)
	}
	if n := children(t); n != 0 {
		t.Errorf("%d child processes are left", n)
	}

	// Resumed, it goes on where it was, and its batches take the order that they would
	// have had.
	c.Observe = nil
	rec.Run.Precision = 0.5
	entries, err := Resume(rec, Entries(testSuites()), rec.Machine, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	// The budget is the whole run's: what is left of it is known if it is interrupted again.
	if left := rec.Run.Budget - rec.Run.Elapsed; left != time.Minute {
		t.Errorf("resumed with %v of the budget left, want 1m", left)
	}
	if err := c.Run(context.Background(), entries, rec); err != nil {
		t.Fatal(err)
	}
	if len(rec.Blocks) < 6 || !rec.Run.Complete {
		t.Errorf("resumed: %d blocks, complete %v", len(rec.Blocks), rec.Run.Complete)
	}
	whole := measured(t, testConductor(t), time.Minute, "op=plain")
	for i := range 6 {
		got, want := rec.Blocks[i].Series[0].Position, whole.Blocks[i].Series[0].Position
		if rounds := min(len(got), len(want)); !slices.Equal(got[:rounds], want[:rounds]) { // how many depends on what they take
			t.Errorf("block %d: order %v, in an unbroken run %v", i+1, got, want)
		}
	}
}

// The budget is kept even by contenders that are slower than a batch should be.
func TestBudgetIsKept(t *testing.T) {
	start := time.Now()
	rec := measured(t, testConductor(t), 3*time.Second, "op=slow")
	if len(rec.Blocks) == 0 || len(rec.Blocks) > 5 {
		t.Errorf("%d blocks of at least 0.6 s in a budget of 3 s", len(rec.Blocks))
	}
	if base, sized := rec.Rows[0].N, rec.Rows[len(rec.Rows)-1].N; base != 1 || sized < 8 {
		t.Errorf("batches of %d and %d operations, want 1 and the least that it takes, 8", base, sized)
	}
	// Not a claim about speed: a run without a budget would go on for 56 blocks.
	if elapsed := time.Since(start); elapsed > 20*time.Second {
		t.Errorf("took %v with a budget of 3 s", elapsed)
	}
}

// A case that the budget did not reach says so in every row.
func TestBudgetEndsBeforeACase(t *testing.T) {
	rec := measured(t, testConductor(t), 0, "op=plain", "op=slow")
	for i := range rec.Rows {
		if row := &rec.Rows[i]; row.Proof != record.ProofNotMeasured+"the budget was used up before" {
			t.Errorf("%s: proof %q", row.Name, row.Proof)
		}
	}
	if !rec.Run.Complete || len(rec.Blocks) > 0 {
		t.Errorf("complete %v, %d blocks", rec.Run.Complete, len(rec.Blocks))
	}
}

func TestResumeRefusesToMix(t *testing.T) {
	_, rec := prepared(t, time.Minute, "op=plain")
	other := rec.Machine
	other.CPU = "another processor"
	if _, err := Resume(rec, Entries(testSuites()), other, time.Minute); err == nil {
		t.Error("resumed on another machine")
	}
	program := rec.Run.Program
	rec.Run.Program = "0123456789abcdef"
	if _, err := Resume(rec, Entries(testSuites()), rec.Machine, time.Minute); err == nil {
		t.Error("resumed with another build")
	}
	rec.Run.Program = program
	rec.Rows[0].Name = "Test/op=plain/is=gone"
	if _, err := Resume(rec, Entries(testSuites()), rec.Machine, time.Minute); err == nil {
		t.Error("resumed a row that the program does not have")
	}
}
