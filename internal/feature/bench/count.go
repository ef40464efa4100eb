package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"postage/internal/stats"
	"postage/internal/verdict"
	"postage/lab"
)

const (
	// countAtOnce is how many processes of each side are counted before it is known whether more
	// are wanted, and countMost how many at most. No more are begun after countPatience.
	countAtOnce, countMost = 3, 15
	countPatience          = 40 * time.Second
	// countPairs is how many pairs of a short batch and a long one a process has at most, and
	// countTime how much CPU time the operations take, without Valgrind, by which a long one is
	// longer: some twenty million instructions. countWait is how long they may take, with all
	// waiting.
	countPairs = 5
	countTime  = 6 * time.Millisecond
	countWait  = time.Second
	// countBytes is about how much a long batch may allocate, as nothing is collected.
	countBytes = 128 << 20
	// mostParts is in how many parts a timer may divide a batch.
	mostParts = 20
	// slowness is about how many times as long a benchmark takes under Valgrind. On a busy machine
	// a process has some minutes, before it counts as hanging.
	slowness      = 100
	leastPatience = 3 * time.Minute
)

// Valgrind is the program that counts instructions. The error says how to get it.
func Valgrind() (string, error) {
	program, err := exec.LookPath("valgrind")
	if err != nil {
		return "", &lab.Hinted{Err: errors.New("--count needs Valgrind, which is not installed"), Hint: "apt-get install valgrind (Debian, Ubuntu), dnf install valgrind (Fedora), apk add valgrind (Alpine)"}
	}
	return program, nil
}

// Count counts the instructions of each benchmark, by Valgrind: what a batch of more operations
// executes beyond a batch of fewer, so that set-up cancels, with GOMAXPROCS=1 and without the
// collector. Counts need no quiet machine: as many processes run at once as there are processors.
// done is called after each benchmark that is added to the run. After budget, unless it is 0, no
// benchmark is begun.
func (s *Set) Count(ctx context.Context, limits verdict.Thresholds, budget time.Duration, run *CountedRun, done func(name string)) error {
	began := time.Now()
	valgrind, err := Valgrind()
	if err != nil {
		return err
	}
	defer run.Judge()
	for i, name := range s.cases {
		if run.Late = len(s.cases) - i; budget > 0 && time.Since(began) > budget {
			return nil
		}
		both := s.pairs[name]
		one := Counted{Case: name}
		halves := []*half{&both.now}
		if both.old.binary != nil {
			halves = []*half{&both.old, &both.now}
		}
		err := countCase(ctx, valgrind, halves, limits, &one)
		if ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			one.Failed = err.Error()
		}
		run.Rows = append(run.Rows, one)
		done(name)
	}
	run.Late = 0
	return nil
}

// countCase counts the benchmark on one side or two, in more processes until its counts are known
// well enough.
func countCase(ctx context.Context, valgrind string, halves []*half, limits verdict.Thresholds, one *Counted) error {
	for _, h := range halves {
		if h.benchmark.Failed != "" {
			return errors.New(h.benchmark.Failed)
		}
	}
	var all []process
	for began := time.Now(); len(all) == 0 || len(all) < countMost*len(halves) && time.Since(began) < countPatience && !one.Sure(limits); {
		more, err := countSome(ctx, valgrind, halves)
		if err != nil {
			return err
		}
		all = append(all, more...)
		one.New = executed(all, len(halves)-1, len(halves))
		if len(halves) > 1 {
			one.Old = executed(all, 0, len(halves))
		}
	}
	if slices.ContainsFunc(all, func(p process) bool { return p.whole }) {
		one.Warnings = append(one.Warnings, "its timer stops too often: what it does then, and stopping, is counted too")
	}
	one.Judge(limits)
	return nil
}

// countSome counts some processes of each side, as many at once as there are processors.
func countSome(ctx context.Context, valgrind string, halves []*half) ([]process, error) {
	processes := make([]process, len(halves)*countAtOnce)
	errs := make([]error, len(processes))
	slots := make(chan struct{}, runtime.NumCPU())
	var group sync.WaitGroup
	for i := range processes {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			h, size := halves[i%len(halves)], sizesOf(halves)
			processes[i], errs[i] = h.count(ctx, valgrind, "count", size)
			if errors.Is(errs[i], errStops) {
				processes[i], errs[i] = h.count(ctx, valgrind, "whole", size)
				processes[i].whole = true
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err // the others say the same
		}
	}
	return processes, nil
}

// executed is what one of so many sides executed, whose processes took turns.
func executed(all []process, side, sides int) *Executed {
	e := &Executed{Functions: map[string]float64{}}
	var allocs, bytes []float64
	for i := side; i < len(all); i += sides {
		p := &all[i]
		e.Processes, allocs, bytes = append(e.Processes, p.instructions), append(allocs, p.allocs), append(bytes, p.bytes)
		part := 1 / float64(len(all)/sides)
		e.Instructions += p.instructions * part
		for name, n := range p.functions {
			e.Functions[name] += n * part
		}
	}
	e.Allocs, e.Bytes = stats.Median(allocs), stats.Median(bytes)
	return e
}

// sizes are the operations of a short batch and of a long one, and how many pairs there are.
type sizes struct{ few, many, pairs int }

// sizesOf are the same on both sides. What counts is CPU time: on a busy machine an operation may
// take a thousand times as long.
func sizesOf(halves []*half) sizes {
	took, cpu, bytes := time.Duration(1), time.Duration(1), 1
	for _, h := range halves {
		took, cpu, bytes = max(took, h.benchmark.Took), max(cpu, cmp.Or(h.benchmark.CPU, h.benchmark.Took)), max(bytes, h.benchmark.Bytes)
	}
	more := max(1, min(int(countTime/cpu), int(countWait/took), countBytes/bytes))
	few := 1 + more/4
	pair := cpu * time.Duration(2*few+more)
	return sizes{few, few + more, max(1, min(countPairs, int(3*countPairs*countTime/2/pair)))}
}

// process is what one process counted, an operation.
type process struct {
	instructions, allocs, bytes float64
	functions                   map[string]float64
	whole                       bool // what it does while its timer is stopped is counted too
}

// count runs the benchmark once under Valgrind.
func (h *half) count(ctx context.Context, valgrind, mode string, size sizes) (p process, err error) {
	folder, err := os.MkdirTemp("", "postage-count-")
	if err != nil {
		return p, err
	}
	defer os.RemoveAll(folder)
	list := fmt.Sprint(size.few) // one batch more at first, as what is set up once is set up in it
	for range size.pairs {
		list += fmt.Sprintf(" %d %d", size.few, size.many)
	}
	arguments, environment := h.binary.command(0, h.benchmark.pattern(), mode+" "+list)
	arguments = append([]string{"-q", "--tool=callgrind", "--cache-sim=no", "--dump-before=testing.postageMark", "--callgrind-out-file=" + filepath.Join(folder, "out")}, arguments...)
	batches := time.Duration(1 + 2*size.pairs)
	patience := max(leastPatience, slowness*batches*(time.Duration(size.few+size.many)/2*h.benchmark.Took+h.benchmark.Call))
	within, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("hang: it did not end within %v; --timeout gives it longer", patience))
	defer cancel()
	said, trouble, err := h.binary.process(within, valgrind, arguments, append(environment, "GOMAXPROCS=1", "GOGC=off", "GODEBUG="+godebug(h.binary.Environment)))
	if within.Err() != nil {
		return p, context.Cause(within)
	} else if err != nil {
		return p, fmt.Errorf("its process ended under Valgrind (%w): %s", err, why(said+trouble))
	}
	return pairUp(folder, said, size)
}

// godebug is GODEBUG without signals that interrupt goroutines: callgrind takes some of them for
// its own fault, and they depend on time.
func godebug(environment []string) string {
	is := os.Getenv("GODEBUG")
	for _, one := range environment {
		if value, ok := strings.CutPrefix(one, "GODEBUG="); ok {
			is = value
		}
	}
	return strings.TrimPrefix(is+",asyncpreemptoff=1", ",")
}

// errStops says that a benchmark stops its timer too often to leave out what it does then.
var errStops = errors.New("its timer stops too often")

// batch is what a batch allocated, and the parts of the output that have what it executed.
type batch struct {
	allocs, bytes float64
	parts         []string
}

// batchesOf reads what a process said of its batches.
func batchesOf(said string) (all []batch) {
	for line := range strings.Lines(said) {
		var b batch
		_, at, ok := strings.Cut(line, "postage counted ")
		figures, parts, listed := strings.Cut(strings.TrimSpace(at), "[")
		if !ok || !listed {
			continue
		}
		if _, err := fmt.Sscan(figures, &b.allocs, &b.bytes); err == nil {
			b.parts = strings.Fields(strings.TrimSuffix(parts, "]"))
			all = append(all, b)
		}
	}
	return all
}

// functions adds up what the functions executed in the batch.
func (b *batch) functions(folder string) (map[string]float64, error) {
	sum := map[string]float64{}
	for _, part := range b.parts {
		functions, err := readParts(filepath.Join(folder, "out."+part))
		if err != nil {
			return nil, err
		}
		for name, n := range functions {
			sum[name] += n
		}
	}
	return sum, nil
}

// pairUp reads what a process wrote.
func pairUp(folder, said string, size sizes) (p process, err error) {
	batches := batchesOf(said)
	if len(batches) != 1+2*size.pairs {
		return p, fmt.Errorf("it counted %d batches: want %d", len(batches), 1+2*size.pairs)
	}
	if slices.ContainsFunc(batches, func(b batch) bool { return len(b.parts) > mostParts }) {
		return p, errStops
	}
	var each, allocs, bytes []float64
	functions := map[string][]float64{}
	more := float64(size.many - size.few)
	for pair := range size.pairs {
		few, many := &batches[1+2*pair], &batches[2+2*pair]
		short, err := few.functions(folder)
		if err != nil {
			return p, err
		}
		long, err := many.functions(folder)
		if err != nil {
			return p, err
		}
		total := 0.0
		names := maps.Clone(long)
		maps.Copy(names, short)
		for name := range names {
			n := (long[name] - short[name]) / more
			functions[name] = append(functions[name], n)
			total += n
		}
		each, allocs, bytes = append(each, total), append(allocs, (many.allocs-few.allocs)/more), append(bytes, (many.bytes-few.bytes)/more)
	}
	p.functions = map[string]float64{}
	delete(functions, monitor) // what is left of it is a correction of others
	for name, all := range functions {
		for len(all) < size.pairs {
			all = append(all, 0) // it was not called
		}
		if median := stats.Median(all); median > 0 { // below 0 is the runtime's, which a short batch had more of
			p.functions[name] = median
		}
	}
	p.instructions = max(0, stats.Median(each))
	p.allocs = max(0, stats.Median(allocs))
	p.bytes = max(0, stats.Median(bytes))
	return p, nil
}
