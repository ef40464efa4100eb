package bench

import (
	"context"
	"errors"
	"time"

	"postage/internal/sys/proc"
	"postage/lab"
)

// live is a test binary that stays alive with one benchmark.
type live struct {
	child *proc.Child
	// How much it had written to standard output and error after the first batch, and after the last.
	firstSaid, lastSaid int
	runs                int
	wall                bool          // its time is wall time
	once                time.Duration // how long one operation kept the process, with all that is not timed
	linear              int           // in how many batches, one after the other, nothing was fixed
}

var _ lab.Runner = (*live)(nil)

// start starts the benchmark in one of the binary's layouts.
func (b *Binary) start(one *Benchmark, layout int) (*live, error) {
	arguments, environment := b.command(layout, one.pattern(), "serve")
	child, err := proc.Open(proc.Command{Who: "the benchmark's process", Args: arguments, Environment: environment, Folder: b.Package.Folder, Group: true})
	if err != nil {
		return nil, err
	}
	return &live{child: child, wall: one.Parallel || one.Waits}, nil
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

const (
	// fixedPart is the part of a batch that may be fixed, and counts as nothing.
	fixedPart = 0.01
	// cheapPart is the part of a batch's time up to which one operation more is always run.
	cheapPart = 0.05
	// surelyLinear is after how many batches without a fixed part a process looks for none.
	surelyLinear = 2
	// untimed is how many times as long as its timed part a batch may keep others waiting. A
	// benchmark that stops its timer in each operation takes a hundred times as long.
	untimed = 4
)

// Batch runs n operations: the benchmark with b.N = n+1, less one with b.N = 1, so that what it sets
// up within its timer cancels. Where there is nothing to cancel, the second may go. A single
// operation is run as it stands.
func (l *live) Batch(ctx context.Context, n int) (*lab.Batch, error) {
	if n == 1 || l.linear >= surelyLinear {
		b, err := l.run(ctx, n)
		if err != nil {
			return nil, err
		}
		b.Took -= l.once
		if n == 1 {
			b.Took = 0 // what is set up beside the timer is no operation's
		}
		return b.batch(n, l.wall), nil
	}
	fixed, err := l.run(ctx, 1)
	if err != nil {
		return nil, err
	}
	b, err := l.run(ctx, n+1)
	if err != nil {
		return nil, err
	}
	l.linear++
	beyond := float64(fixed.WallNS) - float64(b.WallNS)/float64(n+1)
	if beyond > fixedPart*float64(b.WallNS) || float64(fixed.Took) < cheapPart*float64(b.Took) {
		l.linear = 0
	}
	l.once = fixed.Took
	b.less(fixed)
	return b.batch(n, l.wall), nil
}

// answered is what the hook says of a batch.
type answered struct {
	lab.Batch
	SetBytes int64              `json:"set_bytes"`
	Extra    map[string]float64 `json:"extra"`
}

// run runs the benchmark with b.N = n.
func (l *live) run(ctx context.Context, n int) (*answered, error) {
	answer, began := &answered{}, time.Now()
	if err := l.ask(ctx, question{Op: "run", N: n}, answer); err != nil {
		return nil, err
	}
	answer.Took = time.Since(began)
	if l.lastSaid = l.child.Said(); l.runs == 0 {
		l.firstSaid = l.lastSaid
	}
	l.runs++
	return answer, nil
}

// less takes from a batch what another took.
func (a *answered) less(other *answered) {
	a.WallNS -= other.WallNS
	a.Took -= other.Took
	a.CPUNS = max(1, a.CPUNS-other.CPUNS)
	a.Allocs = max(0, a.Allocs-other.Allocs)
	a.Bytes = max(0, a.Bytes-other.Bytes)
	a.Collections = max(0, a.Collections-other.Collections)
}

// of is the batch of n operations. A figure that the benchmark reports itself takes the place of
// the measured one, as with go test. wall says that its time is wall time.
func (a *answered) batch(n int, wall bool) *lab.Batch {
	b := &a.Batch
	b.WallNS = max(1, b.WallNS)
	if b.CPUNS <= 0 {
		b.CPUNS = -1 // not known, or too short to say anything
	}
	counters := map[string]float64{}
	for unit, value := range a.Extra {
		all := value * float64(n) // readers divide by n
		switch unit {
		case "ns/op":
			b.WallNS = max(1, int64(all))
			b.CPUNS = b.WallNS
		case "B/op":
			b.Bytes = int64(all)
		case "allocs/op":
			b.Allocs = int64(all)
		default:
			counters[unit] = all
		}
	}
	if _, own := counters["MB/s"]; a.SetBytes > 0 && !own {
		ns := b.CPUNS
		if wall || ns < 0 {
			ns = b.WallNS
		}
		counters["MB/s"] = float64(a.SetBytes) * float64(n) * 1e3 / float64(ns) * float64(n)
	}
	// On a busy machine the CPU time still says how long it would be.
	b.Took /= untimed
	if wall || b.CPUNS < 0 {
		b.Took = max(b.Took, time.Duration(b.WallNS))
	} else {
		b.Took = max(b.Took, time.Duration(b.CPUNS))
	}
	if len(counters) > 0 {
		b.Counters = counters
	}
	return b
}

// Collect collects garbage, and uses up a part of the next cycle.
func (l *live) Collect(ctx context.Context, part float64) error {
	return l.ask(ctx, question{Op: "collect", Part: part}, &struct{}{})
}

// Close ends the batches. The test binary may then still do its own clean-up.
func (l *live) Close(ctx context.Context) (warnings []string, err error) {
	if l.lastSaid > l.firstSaid {
		warnings = append(warnings, "it prints while it is timed")
	}
	if err := l.ask(ctx, question{Op: "close"}, &struct{}{}); err != nil {
		return warnings, err
	}
	return warnings, l.child.Close()
}

// Kill makes sure that the process is gone.
func (l *live) Kill() { l.child.Kill() }
