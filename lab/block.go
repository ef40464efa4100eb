package lab

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"postage/internal/kit/words"
	"postage/internal/sys/proc"
	"postage/record"
)

// seat is a contender in the block now measured.
type seat struct {
	entry  Entry
	row    *record.Row
	child  answerer
	series record.Series
	err    error // why the contender failed
}

// block measures one block of a case. A contender that fails is marked in its row. An error ends
// the run.
func (r *run) block(ctx context.Context, cs *runCase, rounds int) (record.Block, error) {
	begun := time.Now()
	block := record.Block{Case: cs.name, Number: len(r.rec.BlocksOf(cs.name)) + 1}
	seats, err := r.seats(ctx, cs, &block)
	defer func() {
		var killed sync.WaitGroup
		for _, s := range seats {
			killed.Go(s.child.Kill)
		}
		killed.Wait()
	}()
	if err != nil {
		return block, err
	}
	calibrating := r.setUp(ctx, seats, block.Number)
	r.shareProcessor(cs, seats, block.Number)
	began := time.Now()
	if err := r.rounds(ctx, cs, seats, block.Number, rounds); err != nil {
		return block, err
	}
	round := time.Since(began) / time.Duration(rounds)
	each(seats, func(s *seat) error {
		answer, err := s.child.ask(ctx, request{Op: opClose}, r.conductor.setUpPatience())
		s.series.Latency = answer.Latency
		s.warn(answer.Warnings)
		return err
	})
	block.Elapsed = time.Since(begun)
	cs.turns.took(len(seats), block.Elapsed-calibrating-time.Duration(rounds)*round, round)
	if ctx.Err() != nil {
		return block, ctx.Err()
	}
	for _, s := range seats {
		if s.err != nil {
			s.row.Proof = s.failed(block.Number)
			continue
		}
		for name, values := range s.series.Counters {
			if len(values) < len(s.series.WallNS) { // the machine may give its counter to others
				delete(s.series.Counters, name)
				s.warn([]string{name + " is left out where not all batches of a block report it"})
			}
		}
		block.Series = append(block.Series, s.series)
	}
	return block, nil
}

// seats starts the processes of a block, in a function layout that it draws.
func (r *run) seats(ctx context.Context, cs *runCase, block *record.Block) (seats []*seat, err error) {
	for _, e := range r.company(cs, block.Number) {
		if e.Build != nil && len(e.Build.Commands) > 1 {
			block.Layout = layout(r.rec.Run.Seed, cs.name, block.Number, len(e.Build.Commands))
		}
		s := &seat{entry: e, row: r.rec.Row(e.Row()), series: record.Series{Row: e.Row()}}
		if s.child, err = r.process(ctx, &e, max(0, block.Layout-1)); err != nil {
			return seats, err
		}
		seats = append(seats, s)
	}
	return seats, nil
}

// setUp has the contenders set themselves up and prove themselves, calibrates them, and warms them
// up. It returns how long calibrating took, which only a row's first block does.
func (r *run) setUp(ctx context.Context, seats []*seat, block int) (calibrating time.Duration) {
	each(seats, func(s *seat) error {
		answer, err := r.ready(ctx, s.child, &s.entry)
		if err == nil {
			s.row.Metrics, s.row.Instrument = answer.Metrics, answer.Instrument
		}
		return err
	})
	begun := time.Now()
	r.calibrate(ctx, seats)
	calibrating = time.Since(begun)
	each(seats, func(s *seat) error {
		_, err := s.child.ask(ctx, request{Op: opWarm, N: s.row.N, Seed: r.rec.Run.Seed, Block: block}, r.conductor.batchPatience(2*max(batchTarget, s.entry.Case.Batch)))
		return err
	})
	return calibrating
}

// shareProcessor draws one of the machine's processors and has all workers of the block run on it,
// if each has one processor. Other guests of a host do not slow all of its processors alike. Where
// that is not possible, workers run where the system likes.
func (r *run) shareProcessor(cs *runCase, seats []*seat, block int) {
	all, err := proc.Processors()
	if world := r.rec.Run.World; err != nil || world == nil || world.Procs != 1 {
		return
	}
	processor := all[drawn(r.rec.Run.Seed, fmt.Sprintf("%s/processor/%d", cs.name, block)).IntN(len(all))]
	for _, s := range seats {
		if worker, ok := s.child.(child); ok && s.err == nil && inWorld(s.entry) {
			_ = proc.Assign(worker.PID(), processor)
		}
	}
}

// rounds has every contender run a batch in each round, in random order. A resumed run has the same
// order as one that was not interrupted.
func (r *run) rounds(ctx context.Context, cs *runCase, seats []*seat, block, rounds int) error {
	rng := drawn(r.rec.Run.Seed, fmt.Sprintf("%s/%d", cs.name, block))
	for round := range rounds {
		r.observe(cs, Status{Block: block, Round: round + 1})
		for position, i := range rng.Perm(len(seats)) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if s := seats[i]; s.err == nil {
				r.turn(ctx, s, position)
			}
		}
	}
	return nil
}

// proofBatches is how many times as long as a batch a proof may take. It goes through all inputs.
const proofBatches = 50

// ready has a contender's process set the contender up, prove it, and fill its live heap.
func (r *run) ready(ctx context.Context, child answerer, e *Entry) (reply, error) {
	open := request{Op: opOpen, Row: e.asked(), Seed: r.rec.Run.Seed}
	answer, err := child.ask(ctx, open, max(r.conductor.setUpPatience(), proofBatches*e.Case.Batch))
	if world := r.rec.Run.World; err == nil && world != nil && world.LiveHeap > 0 && inWorld(*e) {
		_, err = child.ask(ctx, request{Op: opPopulate, Bytes: world.LiveHeap}, r.conductor.setUpPatience())
	}
	return answer, err
}

// failed is the proof of a contender that failed.
func (s *seat) failed(block int) record.Proof {
	text := s.err.Error()
	switch {
	case s.entry.Old && strings.HasPrefix(text, noSuchRow):
		return record.ProofNotPossible.Because("the old side, " + s.entry.Build.Name + ", has no such row")
	case s.entry.Old && strings.Contains(text, unknownRequest):
		return record.ProofNotPossible.Because("the old side, " + s.entry.Build.Name + ", is too old: its workers do not know a request that this program makes")
	}
	return record.ProofFailed.Because(fmt.Sprintf("%s (block %d)", words.Abridged(text, longestReason), block))
}

// process starts the process of an entry's contender. Layouts count from 0.
func (r *run) process(ctx context.Context, e *Entry, layout int) (answerer, error) {
	command := r.conductor.Command
	switch {
	case e.Contender.Start != nil:
		runner, err := e.Contender.Start(ctx, layout)
		return &remote{Runner: runner}, err
	case e.Build != nil:
		command = e.Build.Commands[layout%len(e.Build.Commands)] // an old Go builds one
	}
	c, err := proc.Open(proc.Command{Who: "the worker", Args: command, Environment: r.environment(e), Group: true})
	return child{c}, err
}

// warn adds warnings to the row, each of them once.
func (s *seat) warn(warnings []string) {
	for _, w := range warnings {
		if !slices.Contains(s.row.Warnings, w) {
			s.row.Warnings = append(s.row.Warnings, w)
		}
	}
}

// longestReason is how many bytes of a contender's error the record keeps. A record with too long a
// line could not be read.
const longestReason = 2000

// each calls do for each contender that has not failed. It runs twice as many at a time as there
// are processors, because they also wait.
func each(seats []*seat, do func(*seat) error) {
	var group sync.WaitGroup
	slots := make(chan struct{}, 2*runtime.NumCPU())
	for _, s := range seats {
		if s.err == nil {
			slots <- struct{}{}
			group.Go(func() {
				s.err = do(s)
				<-slots
			})
		}
	}
	group.Wait()
}

// calibrate finds the number of operations in a row's batches, in its first block. The control
// takes the baseline's number, and an old revision the new one's, so that the two differ in nothing
// else. Where the old one's batches would then take too long, all of them have fewer.
func (r *run) calibrate(ctx context.Context, seats []*seat) {
	for i, s := range seats {
		if s.err != nil || s.row.N > 0 {
			continue
		}
		other := slices.IndexFunc(seats[:i], func(other *seat) bool { return alike(&s.entry, &other.entry) })
		known := other >= 0 && seats[other].row.N > 0
		if known && !s.entry.Old {
			s.row.N = seats[other].row.N
			continue
		}
		var answer reply
		answer, s.err = s.child.ask(ctx, request{Op: opCalibrate, TargetNS: batchTarget.Nanoseconds()}, r.conductor.batchPatience(s.entry.Case.Batch))
		if !known || s.err != nil {
			s.row.N = answer.N
			s.warn(answer.Warnings)
			continue
		}
		s.row.N = shared(seats[other].row.N, answer.N)
		for _, now := range seats[:i] {
			if now == seats[other] || alike(&now.entry, &seats[other].entry) {
				now.row.N = s.row.N
			}
		}
	}
}

const (
	// mostLonger is how many times longer than the new side's an old side's batches may be.
	mostLonger = 4
	// mostFewer is how many times fewer operations a batch may then have than fill it.
	mostFewer = 16
)

// shared is the number of operations that both sides' batches have. The new side fills a batch with
// now, the old side with old.
func shared(now, old int) int {
	if old > now/mostLonger {
		return now
	}
	return max(old, now/mostFewer, min(now, 2)) // a single one has its set-up in it
}

// alike reports whether e is the same contender as other: its control, or its old version.
func alike(e, other *Entry) bool {
	return e.Role == record.RoleControl && other.Role == record.RoleBaseline && !other.Old ||
		e.Old && e.asked() == other.Row()
}

// turn has one contender run a batch, or a few.
func (r *run) turn(ctx context.Context, s *seat, position int) {
	expected := max(batchTarget, s.entry.Case.Batch)
	if last := len(s.series.WallNS); last > 0 {
		expected = time.Duration(s.series.WallNS[last-1])
	}
	answer, err := s.child.ask(ctx, request{Op: opRun, N: s.row.N}, r.conductor.batchPatience(expected))
	if err == nil && answer.Batch == nil {
		err = fmt.Errorf("the worker's answer to %s has no batch", opRun)
	}
	if s.err = err; err != nil {
		return
	}
	for _, b := range append([]*Batch{answer.Batch}, answer.More...) {
		s.keep(b, position)
	}
}

// keep adds a batch to the series.
func (s *seat) keep(b *Batch, position int) {
	series := &s.series
	series.Position = append(series.Position, position)
	series.WallNS = append(series.WallNS, b.WallNS)
	series.Allocs = append(series.Allocs, b.Allocs)
	series.Bytes = append(series.Bytes, b.Bytes)
	series.Collections = append(series.Collections, b.Collections)
	if b.CPUNS >= 0 || series.CPUNS != nil { // 0 stands for a batch whose time is not known
		before := make([]int64, len(series.WallNS)-1-len(series.CPUNS))
		series.CPUNS = append(append(series.CPUNS, before...), max(0, b.CPUNS))
	}
	for name, value := range b.Counters {
		if series.Counters == nil {
			series.Counters = map[string][]float64{}
		}
		series.Counters[name] = append(series.Counters[name], value)
	}
}
