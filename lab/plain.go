package lab

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"postage/internal/proc"
	"postage/record"
)

// Plain is what an operation of an entry and of its baseline cost in CPU time, in ns, each alone in
// a process of the record's world that does nothing but many in one go. They take turns of about so
// long on one processor, and on the next: they meet the same machine. It checks a record's costs.
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
			for i, ns := range answer.FastEachNS {
				a.parts = append(a.parts, plainPart{float64(answer.WitnessNS[i]), float64(ns) / float64(answer.N)})
			}
		}
	}
	row, base = alikeSlowed(sides[0].parts, sides[1].parts)
	return row, base, nil
}

// plainPart is a part of a turn: what the witness took beside it, and an operation, in ns.
type plainPart struct{ witness, ns float64 }

// alikeSlowed is the mean of either side's parts in which the processor was as fast as it was in a
// tenth of both: what slows a processor slows one kind of work more than another.
func alikeSlowed(one, two []plainPart) (a, b float64) {
	slowest := 0.0
	for _, parts := range [][]plainPart{one, two} {
		slices.SortFunc(parts, func(a, b plainPart) int { return cmp.Compare(a.witness, b.witness) })
		slowest = max(slowest, 1.05*parts[len(parts)/10].witness)
	}
	mean := func(parts []plainPart) float64 {
		sum, n := 0.0, 0
		for ; n < len(parts) && parts[n].witness <= slowest; n++ {
			sum += parts[n].ns
		}
		return sum / float64(n)
	}
	return mean(one), mean(two)
}

// alone is a contender in a plain process of its own.
type alone struct {
	row   string
	child answerer
	n     int // operations of a turn
	parts []plainPart
}

// alone starts and proves one, and gives it a turn that does not count: what allocates little is in
// new memory for half a second.
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
		answer, err = a.child.ask(ctx, request{Op: opPlain, N: a.n}, r.batchPatience(each))
	}
	if err == nil {
		a.n = max(1, int(float64(a.n)*float64(each)/float64(answer.Batch.WallNS)))
		_, err = a.child.ask(ctx, request{Op: opPlain, N: a.n}, r.batchPatience(each))
	}
	if err != nil {
		a.child.Kill()
	}
	return a, err
}

// plainParts are about as many as a turn of plain is looked at in.
const plainParts = 250

// plain does n operations in one go, and takes the CPU time of the whole process, in parts. Between
// them a witness says how fast the processor is, a loop that is timed: it knows nothing of the
// contender's time, or where its collections fall. The runtime likes to collect in system calls, so
// no time is left out but what the witness takes.
func (w *worker) plain(n int) (reply, error) {
	answer := reply{Batch: &Batch{}, N: (n + plainParts - 1) / plainParts}
	about := testify()
	before, known := proc.CPU()
	if !known {
		return answer, fmt.Errorf("CPU time: %w", proc.ErrNotAvailable)
	}
	for left := n; left > 0; left -= answer.N {
		start := time.Now()
		if err := w.instance.Run(answer.N); err != nil {
			return answer, err
		}
		answer.Batch.WallNS += max(1, time.Since(start).Nanoseconds())
		next := testify()
		after, _ := proc.CPU()
		answer.FastEachNS = append(answer.FastEachNS, int64(after-before)-testimonies*next)
		answer.WitnessNS = append(answer.WitnessNS, max(about, next))
		before, about = after, next
	}
	return answer, nil
}

// testimonies are how often the witness runs its loop, as a collection may have its turn in one.
const testimonies = 3

// testify is what a loop of additions takes, in ns, which fills the processor. Without calls or
// memory it takes as long whatever was run before.
func testify() int64 {
	least := int64(math.MaxInt64)
	for range testimonies {
		start := time.Now()
		runtime.KeepAlive(additions(30_000))
		least = min(least, time.Since(start).Nanoseconds())
	}
	return least
}

func additions(n uint64) uint64 {
	var a, b, c, d uint64
	for i := range n {
		a, b, c, d = a+i, b^i, c-i, d|i
	}
	return a + b + c + d
}
