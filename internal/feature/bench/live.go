package bench

import (
	"context"
	"errors"
	"time"

	"postage/internal/sys/proc"
	"postage/lab"
	"postage/record"
)

// live is a test binary that stays alive with one benchmark.
type live struct {
	child *proc.Child
	// How much it has written to standard output and error, and how many goroutines and open files
	// it has, after the first batch and after the last.
	first, last residue
	runs        int
}

var _ lab.Runner = (*live)(nil)

// residue is what batches may leave behind: goroutines, open files, and bytes written.
type residue struct {
	Goroutines int `json:"goroutines"`
	Files      int `json:"files"`
	said       int
}

// start starts the benchmark in one of the binary's layouts.
func (b *Binary) start(one *Benchmark, cpu, layout int) (*live, error) {
	arguments, environment := b.command(layout, one.pattern(), cpu, "serve")
	child, err := proc.Open(proc.Command{Who: "the benchmark's process", Args: arguments, Environment: environment, Folder: b.Package.Folder, Group: true, Counter: b.counter})
	if err != nil {
		return nil, err
	}
	return &live{child: child}, nil
}

// question has its fields in the order that hook.go.txt reads.
type question struct {
	Op   string  `json:"op"`
	N    int     `json:"n"`
	Part float64 `json:"part"`
}

// forever leaves the time limit to the context.
const forever = 1000 * time.Hour

func (l *live) ask(ctx context.Context, q question, answer any) error {
	err := l.child.AskWithin(ctx, forever, q, answer)
	if ended, ok := errors.AsType[*proc.EndedError](err); ok {
		ended.Why = why(ended.Said)
	}
	return err
}

// Open waits until the benchmark has been set up and has run once.
func (l *live) Open(ctx context.Context) error {
	return l.ask(ctx, question{Op: "open"}, &struct{}{})
}

// Batch runs the benchmark with b.N = n.
func (l *live) Batch(ctx context.Context, n int) (*lab.Batch, error) {
	var answer struct {
		lab.Batch
		SetBytes     int64 `json:"set_bytes"`
		Instructions int64 `json:"instructions"` // -1 if they are not counted
		residue
		Extra map[string]float64 `json:"extra"`
	}
	if err := l.ask(ctx, question{Op: "run", N: n}, &answer); err != nil {
		return nil, err
	}
	if l.runs++; l.runs == 1 {
		l.first = answer.residue
		l.first.said = l.child.Said()
	}
	l.last = answer.residue
	l.last.said = l.child.Said()
	b := answer.Batch
	b.WallNS = max(1, b.WallNS)
	if b.CPUNS == 0 {
		b.CPUNS = -1 // not known, or too short to say anything
	}
	counters := map[string]float64{}
	for unit, value := range answer.Extra {
		switch unit {
		case "ns/op", "B/op", "allocs/op": // the extra columns have what was measured
			continue
		}
		counters[unit] = value * float64(n) // readers divide by n
	}
	if answer.Instructions >= 0 {
		counters[record.Instructions] = float64(answer.Instructions)
	}
	if answer.SetBytes > 0 {
		counters["MB/s"] = float64(answer.SetBytes) * float64(n) * 1e3 / float64(b.WallNS) * float64(n)
	}
	if len(counters) > 0 {
		b.Counters = counters
	}
	return &b, nil
}

// Collect collects garbage, and uses up a part of the next cycle.
func (l *live) Collect(ctx context.Context, part float64) error {
	return l.ask(ctx, question{Op: "collect", Part: part}, &struct{}{})
}

// Close ends the batches. The test binary may then still do its own clean-up.
func (l *live) Close(ctx context.Context) (warnings []string, err error) {
	batches := max(3, l.runs-1)
	if l.last.Goroutines-l.first.Goroutines >= batches {
		warnings = append(warnings, "its batches leave goroutines behind, one each or more")
	}
	if l.last.Files-l.first.Files >= batches {
		warnings = append(warnings, "its batches leave files open, one each or more")
	}
	if l.last.said > l.first.said {
		warnings = append(warnings, "it prints while it is timed")
	}
	if err := l.ask(ctx, question{Op: "close"}, &struct{}{}); err != nil {
		return warnings, err
	}
	return warnings, l.child.Close()
}

// Kill makes sure that the process is gone.
func (l *live) Kill() { l.child.Kill() }
