package lab

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"postage/record"
)

// seat is a contender in the block now measured.
type seat struct {
	entry  Entry
	row    *record.Row
	child  *child
	series record.Series
	err    error // why the contender failed
}

// block measures one block of a case. What fails is marked in its row; an error is
// the run's end.
func (r *run) block(ctx context.Context, cs *runCase) (record.Block, error) {
	block := record.Block{Case: cs.name, Number: cs.blocks + 1}
	var seats []*seat
	defer func() {
		for _, s := range seats {
			s.child.end()
		}
	}()
	for _, e := range r.live(cs) {
		child, err := startChild(r.Command, r.environment(), e.Row())
		if err != nil {
			return block, err
		}
		s := &seat{entry: e, row: r.rec.Row(e.Row()), child: child}
		s.series.Row = s.row.Name
		seats = append(seats, s)
	}
	r.setUp(ctx, seats)
	r.calibrate(ctx, seats)
	rng := rand.New(rand.NewPCG(r.rec.Run.Seed, blockSeed(block)))
	for round := range r.rec.Run.Rounds {
		r.observe(cs, Status{Block: block.Number, Round: round + 1})
		for position, i := range rng.Perm(len(seats)) {
			if ctx.Err() != nil {
				return block, ctx.Err()
			}
			if s := seats[i]; s.err == nil {
				r.batch(ctx, s, round, position)
			}
		}
	}
	parallel(len(seats), func(i int) {
		if s := seats[i]; s.err == nil {
			var answer reply
			answer, s.err = s.child.ask(ctx, request{Op: opClose}, r.setUpPatience())
			s.series.Latency = answer.Latency
		}
	})
	if ctx.Err() != nil {
		return block, ctx.Err()
	}
	for _, s := range seats {
		if s.err != nil {
			s.row.Proof = fmt.Sprintf("%s%v (block %d)", record.ProofFailed, s.err, block.Number)
			continue
		}
		block.Series = append(block.Series, s.series)
	}
	return block, nil
}

// blockSeed makes the order of a block the same in a run that was resumed as in one
// that was not.
func blockSeed(b record.Block) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d", b.Case, b.Number)
	return h.Sum64()
}

// setUp opens, proves and warms up all contenders.
func (r *run) setUp(ctx context.Context, seats []*seat) {
	parallel(len(seats), func(i int) {
		s := seats[i]
		var answer reply
		answer, s.err = s.child.ask(ctx, request{Op: opOpen, Row: s.row.Name, Seed: r.rec.Run.Seed, N: s.row.N}, r.setUpPatience())
		if s.err == nil {
			s.row.Metrics = answer.Metrics
		}
	})
}

// calibrate finds, in a row's first block, the number of operations in its batches.
// The control takes the baseline's, so that the two differ in nothing.
func (r *run) calibrate(ctx context.Context, seats []*seat) {
	for _, s := range seats {
		if s.err != nil || s.row.N > 0 {
			continue
		}
		if s.entry.Role == RoleControl && seats[0].entry.Role == RoleBaseline && seats[0].row.N > 0 {
			s.row.N = seats[0].row.N
			continue
		}
		var answer reply
		answer, s.err = s.child.ask(ctx, request{Op: opCalibrate, TargetNS: batchTarget.Nanoseconds()}, r.batchPatience(0))
		s.row.N = answer.N
	}
}

// batch has one contender run one batch.
func (r *run) batch(ctx context.Context, s *seat, round, position int) {
	expected := batchTarget
	if round > 0 {
		expected = time.Duration(s.series.WallNS[round-1])
	}
	before, known := record.ReadDisturbance()
	answer, err := s.child.ask(ctx, request{Op: opRun, N: s.row.N}, r.batchPatience(expected))
	if err == nil && answer.Batch == nil {
		err = fmt.Errorf("the worker's answer to %s has no batch", opRun)
	}
	if err != nil {
		s.err = err
		return
	}
	after, _ := record.ReadDisturbance()
	b := answer.Batch
	series := &s.series
	series.Position = append(series.Position, position)
	series.WallNS = append(series.WallNS, b.WallNS)
	series.Allocs = append(series.Allocs, b.Allocs)
	series.Bytes = append(series.Bytes, b.Bytes)
	if b.CPUNS >= 0 {
		series.CPUNS = append(series.CPUNS, b.CPUNS)
	}
	for name, value := range b.Counters {
		if series.Counters == nil {
			series.Counters = map[string][]float64{}
		}
		series.Counters[name] = append(series.Counters[name], value)
	}
	if flag := disturbed(before, after, time.Duration(b.WallNS)); known && flag != "" {
		if series.Flags == nil {
			series.Flags = map[int]string{}
		}
		series.Flags[round] = flag
	}
}

// disturbed names what took time from a batch, if it was a tenth of it or more.
func disturbed(before, after record.Disturbance, wall time.Duration) string {
	switch {
	case after.Steal > before.Steal:
		return "steal"
	case after.Pressure-before.Pressure > wall/10:
		return "pressure"
	}
	return ""
}
