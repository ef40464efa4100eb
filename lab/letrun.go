package lab

import (
	"context"
	"math"
	"slices"
	"time"

	"postage/internal/stats"
)

// letRun has contenders run in one go after a block's rounds, where one of the case allocates: what
// garbage costs shows where nothing waits for the end of a collection. Where old code is compared
// with new, most of it cancels.
func (r *run) letRun(ctx context.Context, cs *runCase, seats []*seat, block int) {
	world, least := r.rec.Run.World, int64(leastLetRun)
	if cs.sameCode() {
		least = fastAllocated
	}
	if world == nil || world.LiveHeap == 0 || cs.sameCode() && block > 2 || !slices.ContainsFunc(seats, func(s *seat) bool { return s.allocates() >= least }) {
		return
	}
	for _, s := range seats {
		r.letRunOne(ctx, s)
	}
	r.lap("letting run")
}

// letRunOne does so with one: for eight batches, after two, and a collection if it allocates; if
// these would meet another, until whole cycles of collections have ended.
func (r *run) letRunOne(ctx context.Context, s *seat) {
	bytes, world := s.allocates(), r.rec.Run.World
	if bytes < 0 {
		return
	}
	cycle := float64(world.LiveHeap) * float64(world.GOGC) / 100 / float64(bytes) // in batches, and less than twice that
	batches, turns, cycles := letRunBatches, 1, bytes >= fastAllocated || cycle <= 20
	if cycles {
		batches, turns = 8, 1+int(cycle/2)
	}
	q := request{Op: opPlain, N: batches * s.row.N, Pieces: batches * partsOfBatch, Collect: !cycles && bytes >= int64(s.row.N)}
	var parts []Part
	for range turns {
		answer, err := s.child.ask(ctx, q, r.batchPatience(time.Duration(batches)*batchTarget))
		if s.err = err; err != nil {
			return
		}
		parts = append(parts, answer.Parts...)
		if whole, ended := ofCycles(parts); cycles && ended > 0 {
			s.series.CollectionBytes = bytes * int64(len(whole)*answer.N) / int64(ended) / int64(s.row.N)
			parts = whole
			break
		}
	}
	s.series.WitnessLeastNS = AtBest(parts)
	if !cycles {
		parts = parts[len(parts)/5:] // the first fifth finds out where its memory is
	} else if s.series.CollectionBytes == 0 {
		parts = nil
	}
	s.series.WitnessNS, s.series.PlainNS = Means(parts)
	slowed := Slope(parts)
	s.series.SlowedProducts, s.series.SlowedSquares = slowed.Products, slowed.Squares
}

// ofCycles are the parts from the end of a collection to that of the last, and how many that are.
func ofCycles(parts []Part) ([]Part, uint64) {
	after := func(cycle uint64) int {
		return 1 + slices.IndexFunc(parts, func(p Part) bool { return p.Cycle > cycle })
	}
	if len(parts) == 0 || after(parts[0].Cycle) == 0 {
		return nil, 0
	}
	from, last := after(parts[0].Cycle), parts[len(parts)-1].Cycle
	return parts[from:after(last-1)], last - parts[from-1].Cycle
}

// Parts are short, as bursts are in which other guests slow a processor. What batches allocate at
// least for garbage to be most of what they have in common, and to matter; how many are let run.
const partsOfBatch, fastAllocated, leastLetRun, letRunBatches = 32, 768 << 10, 64 << 10, 10

// allocates is how many bytes its batches do, in the middle, -1 for one that is not let run.
func (s *seat) allocates() int64 {
	if s.err != nil || !inWorld(s.entry) || s.row.Instrument != instrument {
		return -1
	}
	return slices.Sorted(slices.Values(s.series.Bytes))[len(s.series.Bytes)/2]
}

// AtBest is what the witness takes in the fastest tenth of the parts, 0 if there are none.
func AtBest(parts []Part) float64 {
	witnesses := make([]float64, len(parts))
	for i, p := range parts {
		witnesses[i] = p.Least
	}
	return stats.FastestTenth(witnesses)
}

// Means are those of the parts, 0 for none.
func Means(parts []Part) (witness, ns float64) {
	for _, p := range parts {
		witness, ns = witness+p.Witness, ns+p.NS
	}
	n := float64(max(1, len(parts)))
	return witness / n, ns / n
}

// Slope is that of the time of parts by the witness's.
func Slope(parts []Part) stats.Slope {
	var witness, ns []float64
	_, mean := Means(parts)
	for _, p := range parts {
		witness, ns = append(witness, math.Log(p.Witness)), append(ns, math.Log(max(p.NS, mean/100)))
	}
	return stats.NewSlope(witness, ns)
}
