package lab

import (
	"context"
	"fmt"
	"time"

	"postage/internal/proc"
	"postage/record"
)

// Plain is what an operation of an entry and of its baseline cost in CPU time, in ns, where each is
// alone: in a process of the record's world that does nothing but many operations in one go, with
// no clock read between them. The two take turns on one processor, each for about so long a turn,
// so that what slows it for a while slows both; the next turns are on the next processor. It is how
// the costs of a record are checked (docs/method.md).
func (c *Conductor) Plain(ctx context.Context, e, baseline Entry, rec *record.Record, turns int, each time.Duration) (row, base float64, err error) {
	r := &run{Conductor: c, rec: rec}
	var sides [2]alone
	for i, e := range []Entry{e, baseline} {
		if sides[i], err = r.alone(ctx, e, each); err != nil {
			return 0, 0, fmt.Errorf("%s: %w", e.Row(), err)
		}
		defer sides[i].child.Kill()
	}
	for turn := range turns {
		for i := range sides {
			a := &sides[i]
			r.assign(a.child, turn)
			answer, err := a.child.ask(ctx, request{Op: opPlain, N: a.n}, r.batchPatience(each))
			if err != nil {
				return 0, 0, fmt.Errorf("%s: %w", a.row, err)
			}
			a.ns += float64(answer.Batch.CPUNS) / float64(a.n)
		}
	}
	return sides[0].ns / float64(turns), sides[1].ns / float64(turns), nil
}

// alone is a contender in a plain process of its own.
type alone struct {
	row   string
	child answerer
	n     int     // operations of a turn
	ns    float64 // an operation took in the turns, added up: one has a collection, the next none
}

// alone starts and proves one, and warms it up, half a second, which does not count: what allocates
// little would be in new memory for as long.
func (r *run) alone(ctx context.Context, e Entry, each time.Duration) (a alone, err error) {
	if a.child, err = r.process(ctx, &e, 0); err != nil {
		return a, err
	}
	a.row = e.Row()
	var answer reply
	if _, err = r.ready(ctx, a.child, &e); err == nil {
		answer, err = a.child.ask(ctx, request{Op: opCalibrate, TargetNS: batchTarget.Nanoseconds()}, r.batchPatience(0))
	}
	if a.n = answer.N; err == nil {
		_, err = a.child.ask(ctx, request{Op: opWarm, N: a.n, Pieces: answer.Pieces}, r.batchPatience(each))
	}
	if err == nil {
		answer, err = a.child.ask(ctx, request{Op: opPlain, N: a.n}, r.batchPatience(each))
	}
	if err == nil {
		operations := func(time float64) int { return max(1, int(float64(a.n)*time/float64(answer.Batch.WallNS))) }
		_, err = a.child.ask(ctx, request{Op: opPlain, N: operations(5e8)}, r.batchPatience(time.Second))
		a.n = operations(float64(each))
	}
	if err != nil {
		a.child.Kill()
	}
	return a, err
}

// plain does n operations in one go, and takes the CPU time of the whole process. Collections fall
// where they fall: one forced before would leave out half a one at the end of each turn.
func (w *worker) plain(n int) (*Batch, error) {
	before, known := proc.CPU()
	start := time.Now()
	if err := w.instance.Run(n); err != nil {
		return nil, err
	}
	after, _ := proc.CPU()
	if !known {
		return nil, fmt.Errorf("CPU time: %w", proc.ErrNotAvailable)
	}
	return &Batch{WallNS: max(1, time.Since(start).Nanoseconds()), CPUNS: (after - before).Nanoseconds()}, nil
}
