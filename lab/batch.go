package lab

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"time"

	"postage/internal/sys/proc"
	"postage/record"
)

// mostTurn is how many batches a contender may run in a turn, in case it always collects.
const mostTurn = 16

// turn runs a batch of n operations. Where costs are measured, it runs more of them until no
// collection is under way. A collection would otherwise run beside the next contender's batch
// instead of the code that made it necessary, and code that allocates much would cost a tenth more
// (docs/evidence/method.md, Collections).
func (w *worker) turn(n int) (batches []*Batch, err error) {
	for going := true; going && len(batches) < mostTurn; {
		var b *Batch
		if b, going, err = timed(w.instance, n, w.others, w.value == record.ValueCost && len(batches) < mostTurn-1, w.instructions); err != nil {
			return nil, err
		}
		batches = append(batches, b)
	}
	return batches, nil
}

// Batch runs n operations.
func (w *worker) Batch(_ context.Context, n int) (*Batch, error) {
	b, _, err := timed(w.instance, n, w.others, false, w.instructions)
	return b, err
}

// timed runs one batch and measures it. Wall time is Run's alone. If a collection is under way at
// the end, timed waits for it, or with goesOn returns going. If there are more goroutines than
// others, it waits until they have nothing to do; with 0 it does not.
func timed(instance Instance, n, others int, goesOn bool, instructions *proc.Instructions) (b *Batch, going bool, err error) {
	if err := prepare(instance); err != nil {
		return nil, false, err
	}
	before, err := counters(instance)
	if err != nil {
		return nil, false, err
	}
	var memBefore, memAfter runtime.MemStats
	runtime.ReadMemStats(&memBefore)
	executedBefore, counting := instructions.Count()
	cpuBefore, cpuKnown := proc.CPUOfCode()

	start := time.Now()
	err = instance.Run(n)
	wall := time.Since(start)

	if going = goesOn && collecting(); !going {
		awaitCollection()
		if others > 0 && runtime.NumGoroutine() > others || metric(collections) > uint64(memBefore.NumGC) {
			settle() // sweeping follows a collection, during the next batches or while none runs
		}
	}
	cpuAfter, _ := proc.CPUOfCode()
	executed, stillCounting := instructions.Count()
	runtime.ReadMemStats(&memAfter)
	if err != nil {
		return nil, false, fmt.Errorf("run: %w", err)
	}
	b = &Batch{
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
		return nil, false, err
	}
	for name := range b.Counters {
		b.Counters[name] -= before[name]
	}
	if counting && stillCounting {
		b.Counters[record.Instructions] = float64(executed - executedBefore)
	}
	return b, going, nil
}

// counters are the contender's own counters, empty if it has none.
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

func prepare(instance Instance) error {
	if p, ok := instance.(Prepared); ok {
		if err := p.Prepare(); err != nil {
			return fmt.Errorf("prepare: %w", err)
		}
	}
	return nil
}
