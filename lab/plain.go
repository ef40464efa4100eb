package lab

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"postage/internal/proc"
	"postage/record"
)

// Part is of what a process does where it does nothing but operations: how long one took in CPU
// time, and what the witness took beside it, which is slowed as other code is. All are in ns.
type Part struct {
	Witness float64 `json:"witness"` // before and after, of the middle turns
	Least   float64 `json:"least"`   // of its turns
	NS      float64 `json:"ns"`
	Cycle   uint64  `json:"cycle"` // collections of garbage that ended in the process before it did
}

// Plain has an entry and its baseline, each alone in a process of the record's world, take turns of
// about so long on one processor, and on the next: they meet the same machine. It checks a record's
// costs. It returns the parts of each turn.
func (c *Conductor) Plain(ctx context.Context, e, baseline Entry, rec *record.Record, turns int, each time.Duration) (row, base [][]Part, err error) {
	r := &run{Conductor: c, rec: rec}
	var sides [2]alone
	for i, e := range []Entry{e, baseline} {
		if sides[i], err = r.alone(ctx, e, each); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", e.Row(), err)
		}
		defer sides[i].child.Kill()
	}
	for turn := range turns {
		for i := range sides {
			a := &sides[i]
			r.assign(a.child, turn)
			answer, err := a.child.ask(ctx, request{Op: opPlain, N: a.n, Pieces: int(each * partsOfBatch / batchTarget)}, r.batchPatience(each))
			if err == nil && len(answer.Parts) == 0 {
				err = fmt.Errorf("CPU time: %w", proc.ErrNotAvailable)
			}
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", a.row, err)
			}
			a.turns = append(a.turns, answer.Parts)
		}
	}
	return sides[0].turns, sides[1].turns, nil
}

// alone is a contender in a plain process of its own.
type alone struct {
	row   string
	child answerer
	n     int // operations of a turn
	turns [][]Part
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
		answer, err = a.child.ask(ctx, request{Op: opPlain, N: a.n, Pieces: 1}, r.batchPatience(each))
	}
	if err == nil {
		a.n = max(1, int(float64(a.n)*float64(each)/float64(answer.Batch.WallNS)))
		_, err = a.child.ask(ctx, request{Op: opPlain, N: a.n, Pieces: 1}, r.batchPatience(each))
	}
	if err != nil {
		a.child.Kill()
	}
	return a, err
}

// plain does operations in one go, and takes the CPU time of the whole process, in parts. Between
// them a witness says how fast the processor is, a loop that is timed: it knows nothing of the
// contender's time, or where its collections fall. The runtime likes to collect in system calls, so
// no time is left out but the witness's, nor what it spends between turns, while the process waits.
// Where that clock is not known there are no parts.
func (w *worker) plain(q request) (reply, error) {
	answer := reply{Batch: &Batch{}, N: max(leastOps(w.instance), (q.N+q.Pieces-1)/q.Pieces)}
	if err := prepare(w.instance); err != nil {
		return answer, err
	}
	if q.Collect {
		runtime.GC()
	}
	about, _ := testify()
	before, known := proc.CPUOfCode()
	if w.turned > 0 {
		before = w.turned + testimonies*about
	}
	for left := q.N; left > 0 && known; left -= answer.N {
		start := time.Now()
		if err := w.instance.Run(answer.N); err != nil {
			return answer, err
		}
		answer.Batch.WallNS += max(1, time.Since(start).Nanoseconds())
		next, least := testify()
		cycle := collections() // before the clock is read: a system call may end one
		after, _ := proc.CPUOfCode()
		ns := float64(after-before-testimonies*next) / float64(answer.N)
		answer.Parts = append(answer.Parts, Part{float64(about+next) / 2, float64(least), ns, cycle})
		before, about, w.turned = after, next, after
	}
	return answer, nil
}

// testimonies are how often the witness runs its loop, as a collection may have its turn in one.
const testimonies = 3

// testify is what loops with many branches take, in the middle and at least: it is slowed about as
// much as other code, wherever the linker places it, as a loop of a few additions is not. Without
// calls or memory it takes as long whatever was run before.
func testify() (middle, least time.Duration) {
	var each [testimonies]time.Duration
	for i := range each {
		sum, start := uint64(0), time.Now()
		for n := range uint64(2_500) {
			for v := n * 0x9E3779B97F4A7C15 >> (n&3*9 + 28); v > 0; v >>= 7 {
				sum += v
			}
		}
		runtime.KeepAlive(sum)
		each[i] = time.Since(start)
	}
	slices.Sort(each[:])
	return min(each[testimonies/2], 4*each[0]), each[0] // more is a pause
}
