package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/perf/benchfmt"

	"postage/lab"
)

// plain is a test binary as go test -c makes it. Each batch is a process of its own, which sets up
// the benchmark anew, and reports wall time and allocations.
type plain struct {
	binary  *Binary
	file    string
	pattern string
	cpu     int
}

var _ lab.Runner = (*plain)(nil)

// run runs the benchmark with b.N = n. It returns its results, what else it printed, and how it
// ended.
func (p *plain) run(ctx context.Context, n int) (results []*benchfmt.Result, said string, err error) {
	out, trouble, err := p.binary.process(ctx, p.file, append(arguments(p.pattern, n, p.cpu), "-test.benchmem"), append([]string{"GOMAXPROCS=" + strconv.Itoa(runtime.GOMAXPROCS(0))}, p.binary.Environment...))
	reader := benchfmt.NewReader(strings.NewReader(out), p.file)
	for reader.Scan() {
		if r, ok := reader.Result().(*benchfmt.Result); ok {
			results = append(results, r.Clone())
		}
	}
	return results, out + trouble, err
}

// Open has nothing to wait for.
func (p *plain) Open(context.Context) error { return nil }

// Batch starts a process for the batch.
func (p *plain) Batch(ctx context.Context, n int) (*lab.Batch, error) {
	results, said, err := p.run(ctx, n)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.As(err, &exit):
		return nil, fmt.Errorf("its process ended (%w): %s", err, why(said))
	case err != nil:
		return nil, err
	case len(results) != 1 || results[0].Iters != n:
		return nil, fmt.Errorf("it printed %d results of %d operations: want one", len(results), n)
	}
	b := &lab.Batch{CPUNS: -1, Counters: map[string]float64{}}
	for _, v := range results[0].Values {
		total := v.Value * float64(n)
		if math.IsNaN(total) || math.IsInf(total, 0) { // JSON has neither
			continue
		}
		switch v.Unit {
		case "sec/op": // the reader's form of ns/op
			b.WallNS = max(1, int64(total*1e9))
		case "ns/op":
			b.WallNS = max(1, int64(total))
		case "B/op":
			b.Bytes = int64(total)
		case "allocs/op":
			b.Allocs = int64(total)
		case "B/s":
			b.Counters["MB/s"] = total / 1e6
		default:
			b.Counters[v.Unit] = total
		}
	}
	if b.WallNS == 0 {
		return nil, errors.New("it reports no ns/op")
	}
	if len(b.Counters) == 0 {
		b.Counters = nil
	}
	return b, nil
}

// Collect has nothing to do: a batch begins with a new heap.
func (p *plain) Collect(context.Context, float64) error { return nil }

// Close returns a warning that says how the row was measured.
func (p *plain) Close(context.Context) ([]string, error) {
	return []string{"one process for each batch, by wall time: " + p.binary.Plain}, nil
}

// Kill has nothing to do: a batch ends with its context.
func (p *plain) Kill() {}

// listPlain does what list does, for a binary without the hook.
func (b *Binary) listPlain(ctx context.Context, top, pattern string, patience time.Duration) (found []Benchmark, _ error) {
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	p := &plain{binary: b, file: b.Layouts[0], pattern: pattern}
	results, said, err := p.run(within, 1)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	suffix := "" // that package testing adds to names
	if procs := runtime.GOMAXPROCS(0); procs > 1 {
		suffix = "-" + strconv.Itoa(procs)
	}
	for _, r := range results {
		one := Benchmark{Name: "Benchmark" + strings.TrimSuffix(string(r.Name), suffix)}
		if ns, ok := r.Value("sec/op"); ok {
			one.Took = time.Duration(ns * float64(time.Second))
		}
		found = append(found, one)
	}
	// The last one may have panicked, and its result been printed meanwhile, as on one processor it
	// is not.
	if last := len(found) - 1; err != nil && last >= 0 {
		again := &plain{binary: b, file: p.file, pattern: found[last].pattern(), cpu: 1}
		if _, _, err := again.run(within, 1); err != nil {
			found = found[:last]
		}
	}
	stopped := outcomes(said)
	found = append(found, stopped...)
	if len(found) == 0 && err == nil && strings.Contains(pattern, "/") {
		return nil, nil // it has no such sub-benchmarks
	}
	if len(found) == 0 && err == nil {
		return []Benchmark{{Name: top, Failed: "it prints no result: it skips"}}, nil
	}
	return finished(found, top, len(stopped) > 0, within, patience, err, said)
}
