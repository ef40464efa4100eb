package lab

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"time"

	"postage/internal/proc"
	"postage/record"
)

// Batch runs n operations.
func (w *worker) Batch(_ context.Context, n int) (*Batch, error) {
	return timed(w.instance, n, w.others, w.instructions)
}

// timed runs one batch and measures it. Everything but Run is outside of the wall time. The CPU
// time includes the rest of a collection that the batch began, which would run beside the next
// batch. It waits for what goroutines beyond others still do, unless that is 0.
func timed(instance Instance, n, others int, instructions *proc.Instructions) (*Batch, error) {
	if err := prepare(instance); err != nil {
		return nil, err
	}
	before, err := counters(instance)
	if err != nil {
		return nil, err
	}
	var memBefore, memAfter runtime.MemStats
	runtime.ReadMemStats(&memBefore)
	executedBefore, counting := instructions.Count()
	cpuBefore, cpuKnown := proc.CPUOfCode()

	start := time.Now()
	err = instance.Run(n)
	wall := time.Since(start)

	awaitCollection()
	if others > 0 && runtime.NumGoroutine() > others || collections() > uint64(memBefore.NumGC) {
		settle() // sweeping follows a collection, during the next batches or while none runs
	}
	cpuAfter, _ := proc.CPUOfCode()
	executed, stillCounting := instructions.Count()
	runtime.ReadMemStats(&memAfter)
	if err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	b := &Batch{
		WallNS:      max(1, wall.Nanoseconds()),
		CPUNS:       -1,
		Allocs:      int64(memAfter.Mallocs - memBefore.Mallocs),
		Bytes:       int64(memAfter.TotalAlloc - memBefore.TotalAlloc),
		Collections: int64(memAfter.NumGC - memBefore.NumGC),
	}
	if cpuKnown {
		b.CPUNS = (cpuAfter - cpuBefore).Nanoseconds()
	}
	if b.Counters, err = counters(instance); err != nil {
		return nil, err
	}
	for name := range b.Counters {
		b.Counters[name] -= before[name]
	}
	if counting && stillCounting {
		b.Counters[record.Instructions] = float64(executed - executedBefore)
	}
	return b, nil
}

// counters are the contender's own, empty if it has none.
func counters(instance Instance) (map[string]float64, error) {
	all := map[string]float64{}
	if counted, ok := instance.(Counted); ok {
		now, err := counted.Counters()
		if err != nil {
			return nil, fmt.Errorf("counters: %w", err)
		}
		maps.Copy(all, now)
	}
	return all, nil
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
