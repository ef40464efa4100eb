package lab

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"postage/internal/proc"
	"postage/record"
)

// Plain is what an operation of each entry costs in CPU time, in ns, where it is alone: in a
// process of the record's world that does nothing but many operations in one go, with no clock read
// between them. The entries take turns, each for about so long a turn; there is a figure a turn. It
// is how the costs of a record are checked (docs/method.md).
func (c *Conductor) Plain(ctx context.Context, entries []Entry, rec *record.Record, turns int, each time.Duration) (map[string][]float64, error) {
	r := &run{Conductor: c, rec: rec}
	figures := map[string][]float64{}
	for range turns {
		for i := range entries {
			ns, err := r.plain(ctx, &entries[i], each)
			if err != nil {
				return figures, fmt.Errorf("%s: %w", entries[i].Row(), err)
			}
			figures[entries[i].Row()] = append(figures[entries[i].Row()], ns)
		}
	}
	return figures, nil
}

func (r *run) plain(ctx context.Context, e *Entry, each time.Duration) (float64, error) {
	child, err := r.process(ctx, e, 0)
	if err != nil {
		return 0, err
	}
	defer child.Kill()
	if _, err := r.ready(ctx, child, e); err != nil {
		return 0, err
	}
	answer, err := child.ask(ctx, request{Op: opCalibrate, TargetNS: batchTarget.Nanoseconds()}, r.batchPatience(0))
	if err != nil {
		return 0, err
	}
	n := max(1, int(float64(answer.N)*each.Seconds()/batchTarget.Seconds()))
	if answer, err = child.ask(ctx, request{Op: opPlain, N: n}, r.batchPatience(each)); err != nil {
		return 0, err
	}
	return float64(answer.Batch.CPUNS) / float64(n), nil
}

// plain does n operations in one go, after a fifth as many that do not count, and takes the CPU
// time of the whole process.
func (w *worker) plain(n int) (*Batch, error) {
	if err := w.instance.Run(max(1, n/5)); err != nil {
		return nil, err
	}
	runtime.GC()
	before, known := proc.CPU()
	if err := w.instance.Run(n); err != nil {
		return nil, err
	}
	after, _ := proc.CPU()
	if !known {
		return nil, fmt.Errorf("CPU time: %w", proc.ErrNotAvailable)
	}
	return &Batch{CPUNS: (after - before).Nanoseconds()}, nil
}
