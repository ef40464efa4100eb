package lab

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"postage/internal/proc"
	"postage/internal/stats"
	"postage/record"
)

// Part is of what a process does where it does nothing but operations: how long one took in CPU
// time, and what the witness took beside it, which is slowed as other code is. All are in ns.
type Part struct {
	Witness float64 `json:"witness"` // before and after, of the middle turns
	Least   float64 `json:"least"`   // of its turns
	NS      float64 `json:"ns"`
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
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", a.row, err)
			}
			a.turns = append(a.turns, answer.Parts)
		}
	}
	return sides[0].turns, sides[1].turns, nil
}

// letRun has contenders run in one go after a block's rounds, where one of the case allocates: what
// garbage costs shows where nothing waits for the end of a collection.
func (r *run) letRun(ctx context.Context, cs *runCase, seats []*seat) {
	world := r.rec.Run.World
	if world == nil || world.LiveHeap == 0 || !slices.ContainsFunc(seats, func(s *seat) bool { return s.allocates() >= leastLetRun }) {
		return
	}
	for _, s := range seats {
		r.letRunOne(ctx, cs, s)
	}
	r.lap("letting run")
}

// letRunOne does so with one: if it allocates for some cycles of collections, for more after the
// first look; else for twelve batches, after four. One that is slow to allocate is not where such
// take more than a fifth of the case's time.
func (r *run) letRunOne(ctx context.Context, cs *runCase, s *seat) {
	bytes, q := s.allocates(), request{Op: opPlain, N: 16 * s.row.N, Pieces: 16 * partsOfBatch}
	none, slow := bytes < int64(s.row.N), bytes < fastAllocated
	switch {
	case bytes < 0, !none && bytes < leastLetRun:
		return
	case !none:
		cycle := float64(r.rec.Run.World.LiveHeap) / float64(bytes) // in batches, and less than twice that
		q.Cycles = uint64(min(max(1, 8/cycle), 4))
		if cs.blocks >= looks[0] && !slow { // what is left of the noise is mostly that of cycles
			q.Cycles *= 2
		}
		batches := max(1, int(float64(2*q.Cycles+3)*cycle))
		q.N, q.Pieces = batches*s.row.N, batches*partsOfBatch
		if slow && 5*(cs.let+time.Duration(batches)*batchTarget) > r.left()/time.Duration(max(1, len(r.active()))) {
			return
		}
	}
	began := time.Now()
	answer, err := s.child.ask(ctx, q, r.batchPatience(time.Duration(q.Pieces)*batchTarget/partsOfBatch))
	if s.err = err; slow && !none {
		took := time.Since(began)
		cs.let, cs.once = cs.let+took, cs.once+took
	}
	parts := answer.Parts
	if len(parts) == 0 {
		return
	}
	s.series.WitnessLeastNS = atBest(parts)
	if none { // the first quarter finds out where its memory is
		parts = parts[len(parts)/4:]
	} else {
		s.series.CollectionBytes = bytes * int64(len(parts)*answer.N) / int64(q.Cycles) / int64(s.row.N)
	}
	s.series.WitnessNS, s.series.PlainNS = means(parts)
}

// Parts are short, as bursts are in which other guests slow a processor. What a batch allocates for
// a cycle that takes less than about a third of a second, and four.
const partsOfBatch, fastAllocated, leastLetRun = 32, 768 << 10, 64 << 10

// allocates is how many bytes its batches do, in the middle, -1 for one that is not let run.
func (s *seat) allocates() int64 {
	if s.err != nil || !inWorld(s.entry) || s.row.Instrument != instrument {
		return -1
	}
	return slices.Sorted(slices.Values(s.series.Bytes))[len(s.series.Bytes)/2]
}

// atBest is what the witness takes in the fastest tenth of the parts, 0 if there are none.
func atBest(parts []Part) float64 {
	witnesses := make([]float64, len(parts))
	for i, p := range parts {
		witnesses[i] = p.Least
	}
	return stats.FastestTenth(witnesses)
}

// means are those of the parts, 0 for none.
func means(parts []Part) (witness, ns float64) {
	for _, p := range parts {
		witness, ns = witness+p.Witness, ns+p.NS
	}
	n := float64(max(1, len(parts)))
	return witness / n, ns / n
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
// no time is left out but what the witness takes. Of cycles it has no parts if they did not end.
func (w *worker) plain(q request) (reply, error) {
	answer := reply{Batch: &Batch{}, N: max(leastOps(w.instance), (q.N+q.Pieces-1)/q.Pieces)}
	about, _ := testify()
	cycles, ended := collections(), uint64(0)
	before, known := proc.CPUOfCode()
	if _, ok := w.instance.(Prepared); q.Cycles > 0 && (ok || !known) {
		return answer, nil
	} else if !known {
		return answer, fmt.Errorf("CPU time: %w", proc.ErrNotAvailable)
	}
	for left := q.N; left > 0; left -= answer.N {
		counts, start := q.Cycles == 0 || ended > 0, time.Now()
		if err := w.instance.Run(answer.N); err != nil {
			return answer, err
		}
		answer.Batch.WallNS += max(1, time.Since(start).Nanoseconds())
		next, least := testify()
		ended = collections() - cycles // before the clock is read: a system call may end one
		after, _ := proc.CPUOfCode()
		if counts {
			ns := float64(after-before-testimonies*next) / float64(answer.N)
			answer.Parts = append(answer.Parts, Part{float64(about+next) / 2, float64(least), ns})
		}
		if before, about = after, next; q.Cycles > 0 && ended > q.Cycles {
			return answer, nil
		}
	}
	if q.Cycles > 0 {
		answer.Parts = nil
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
