package lab

import (
	"context"
	"math"
	"slices"
	"time"

	"postage/internal/stats"
)

// letting is how a contender is let run after a block's rounds, in turns with the others.
type letting struct {
	batches, turns int  // of a turn, and how many at most
	cycles         bool // it meets collections
	ops            int  // of a part
	parts          []Part
}

// letRun has contenders run in one go after a block's rounds, where one of the case allocates: what
// garbage costs shows where nothing waits for the end of a collection. They take turns, and meet
// the same machine. Where old code is compared with new, most of it cancels.
func (r *run) letRun(ctx context.Context, cs *runCase, seats []*seat, block int) {
	world, least := r.rec.Run.World, int64(leastLetRun)
	if cs.sameCode() {
		least = fastAllocated
	}
	if world == nil || world.LiveHeap == 0 || cs.sameCode() && block > 2 || !slices.ContainsFunc(seats, func(s *seat) bool { return s.allocates() >= least }) {
		return
	}
	lettings := make([]letting, len(seats))
	for i, s := range seats {
		lettings[i] = r.letting(s)
	}
	for turn, again := 0, true; again; turn++ {
		again = false
		for i, s := range seats {
			if turn < lettings[i].turns {
				r.turn(ctx, s, &lettings[i])
				again = true
			}
		}
	}
	for i, s := range seats {
		lettings[i].note(s)
	}
	r.lap("letting run")
}

// letting says how long one is let run: for six batches, after two and a collection; if these
// would meet another, for turns of 60 ms until a cycle of collections has ended: in shorter ones it
// would be dearer, as what lives is in no cache after the others' turns.
func (r *run) letting(s *seat) letting {
	bytes, world := s.allocates(), r.rec.Run.World
	cycle := float64(world.LiveHeap) * float64(world.GOGC) / 100 / float64(bytes) // in batches, and less than twice that
	switch {
	case bytes < 0:
		return letting{}
	case bytes < fastAllocated && cycle > 20:
		return letting{batches: 1, turns: 8}
	}
	return letting{batches: 8, turns: 1 + int(4*cycle/8), cycles: true}
}

// turn has it run for one.
func (r *run) turn(ctx context.Context, s *seat, l *letting) {
	answer, err := s.child.ask(ctx, request{Op: opPlain, N: l.batches * s.row.N, Pieces: l.batches * partsOfBatch, Collect: !l.cycles && l.parts == nil}, r.batchPatience(time.Duration(l.batches)*batchTarget))
	s.err, l.ops, l.parts = err, answer.N, append(l.parts, answer.Parts...)
	if _, ended := ofCycles(l.parts); err != nil || l.cycles && ended > 0 {
		l.turns = 0
	}
}

// note keeps what the parts say.
func (l *letting) note(s *seat) {
	s.series.WitnessLeastNS = AtBest(l.parts)
	if !l.cycles { // the first quarter finds out where its memory is
		l.parts = l.parts[len(l.parts)/4:]
	} else {
		var ended uint64
		if l.parts, ended = ofCycles(l.parts); ended > 0 {
			s.series.CollectionBytes = s.allocates() * int64(len(l.parts)*l.ops) / int64(ended) / int64(s.row.N)
		}
	}
	s.series.WitnessNS, s.series.PlainNS = Means(l.parts)
	slowed := Slope(l.parts)
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
// least for garbage to be most of what they have in common, and to matter.
const partsOfBatch, fastAllocated, leastLetRun = 32, 768 << 10, 64 << 10

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
