// Package loadagainst compares two servers under one load: slices of it go to one and the other in
// turns, so that what disturbs the machine disturbs both.
package loadagainst

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"postage/internal/stats"
	"postage/load"
	"postage/record"
)

// Bounds on what a calibration chooses.
const (
	shortestSlice, longestSlice   = 100 * time.Millisecond, 500 * time.Millisecond
	shortestSettle, longestSettle = 20 * time.Millisecond, 200 * time.Millisecond
)

// calibrationSwitches is how many times a calibration goes from one side to the other.
const calibrationSwitches = 8

// Turns is how the sides take turns.
type Turns struct {
	Plan load.Plan
	Rate float64 // requests a second

	slice, settle time.Duration // after a switch, answers are not counted until the server has settled
	block         int           // slices of each side
}

// mostBlocks is how many blocks there are at most. More would leave too few requests in each for
// its own slowest hundredth.
const mostBlocks = 12

// Calibrate chooses how long a slice is, and how long after a switch answers are not counted. A
// slice has a hundred requests, and lasts ten times as long as the slowest hundredth. After a
// switch, answers are not counted until two intervals come in which the mean latency is no more
// than a tenth above what it is in the second half.
//
// The record then says so, and where the sides' first answers differ.
func (s *Sides) Calibrate(ctx context.Context, t *Turns, rec *record.Record) (err error) {
	if rec.Run.Warnings, err = s.differing(ctx); err != nil {
		return err
	}
	every := max(10*time.Millisecond, time.Duration(5e3/t.Rate)*time.Millisecond)
	means := make([][]float64, max(2, 2*longestSettle/every))
	for turn := range calibrationSwitches {
		i, told := 0, *t
		told.Plan.Every, told.Plan.Told = every, func(in load.Interval) {
			if i < len(means) && in.Done > 0 {
				means[i] = append(means[i], in.Latency.Mean())
			}
			i++
		}
		r, err := s[turn%2].run(ctx, &told, time.Duration(len(means))*every, rec.Run.Seed+uint64(turn))
		if err != nil {
			return err
		}
		p99 := time.Duration(r.Least.ValueAtQuantile(99))
		t.slice = min(longestSlice, max(t.slice, shortestSlice, 10*p99, time.Duration(100/t.Rate*1e9)))
	}
	t.settle = min(longestSettle, max(shortestSettle, time.Duration(settled(means))*every))
	requests := t.Rate * rec.Run.Budget.Seconds() / 2
	blocks := min(mostBlocks, max(stats.MinBlocks, int(requests*0.01/leastTail)))
	t.block = int(math.Ceil(rec.Run.Budget.Seconds() / float64(blocks) / (2 * (t.slice + t.settle)).Seconds()))
	rec.Rows[0].Settings["turns"] = fmt.Sprintf("%d slices of %v each a block, the first %v after a switch not counted",
		t.block, t.slice.Round(time.Millisecond), t.settle)
	return nil
}

// settled returns after how many intervals latencies are as they stay, by the means of each.
func settled(means [][]float64) int {
	stays := 1.1 * stats.Median(slices.Concat(means[len(means)/2:]...))
	for i := range means[1:] {
		if max(stats.Median(means[i]), stats.Median(means[i+1])) <= stays { // not if none was answered
			return i
		}
	}
	return len(means)
}

// Run measures blocks until the record's budget is used up. Both slices of a pair have the same
// arrivals, and are in random order. It calls save after each block.
func (s *Sides) Run(ctx context.Context, t *Turns, rec *record.Record, save func() error) (err error) {
	for i := range s {
		if s[i].last, err = s[i].Server.Now(ctx); err != nil {
			return err
		}
	}
	for rec.Run.Elapsed < rec.Run.Budget || len(rec.Blocks) < stats.MinBlocks {
		begun := time.Now()
		block := record.Block{Case: rec.Rows[0].Case, Number: len(rec.Blocks) + 1}
		var both [2]counts
		for pair := range t.block {
			seed := rec.Run.Seed + calibrationSwitches + uint64(block.Number*t.block+pair)
			for _, i := range rand.Perm(2) {
				if err := s[i].slice(ctx, t, seed, &both[i]); err != nil {
					return err
				}
			}
		}
		for i := range s {
			series, err := both[i].series(&rec.Rows[i])
			if err != nil {
				return err
			}
			block.Series = append(block.Series, series)
		}
		block.Elapsed = time.Since(begun)
		rec.Blocks = append(rec.Blocks, block)
		rec.Run.Elapsed += block.Elapsed
		rec.Run.Complete = rec.Run.Elapsed >= rec.Run.Budget && len(rec.Blocks) >= stats.MinBlocks
		if err := save(); err != nil {
			return err
		}
	}
	return nil
}

// slice sends requests until the server has settled, and then those that count.
func (s *Side) slice(ctx context.Context, t *Turns, seed uint64, sum *counts) error {
	before, err := s.run(ctx, t, t.settle, ^seed)
	if err != nil {
		return err
	}
	r, err := s.run(ctx, t, t.slice, seed)
	if err != nil {
		return err
	}
	now, err := s.Server.Now(ctx)
	if err != nil {
		return err
	}
	if sum.totals == nil {
		sum.totals, sum.errors = map[string]float64{}, map[string]int64{}
	}
	sum.due += float64(r.Planned)
	sum.latency.Add(r.Least)
	for why, n := range r.Errors {
		sum.errors[why] += n
	}
	sum.totals["late"] += float64(r.Planned - r.Account.SentOnTime)
	sum.totals["errors"] += float64(r.Failed())
	for name, used := range now.Since(s.last) {
		sum.totals[name] += used * float64(r.Planned) / float64(before.Planned+r.Planned)
	}
	s.last = now
	return nil
}

// A Capacity is the highest rate at which a side keeps the objectives, in requests a second; 0 if it
// keeps them at none. Missed says what it misses at a higher rate.
type Capacity struct {
	Rate   float64 `json:"rate"`
	Missed string  `json:"missed"`
}

// Search searches for the capacity of both sides as load.Search does: one try of each in turn, as
// long as the plan lasts. told is called after each try.
func (s *Sides) Search(ctx context.Context, plan load.Plan, objectives []load.Objective, told func(string, load.Try)) (found [2]Capacity, err error) {
	both, stop := context.WithCancel(ctx)
	defer stop()
	var next [2]func() (load.Try, bool)
	for i := range s {
		next[i], _ = iter.Pull(func(yield func(load.Try) bool) {
			plan.Lines = s[i].pool.Lines
			best, limit, failed := load.Search(both, plan, objectives, func(t load.Try) { yield(t) })
			found[i].Missed = limit.Missed
			if best != nil {
				found[i].Rate = best.Rate
			}
			if failed != nil {
				err = errors.Join(err, fmt.Errorf("%s: %w", s[i].Name, failed))
				stop()
			}
		})
	}
	for i, ended := 0, 0; ended < len(s); i = 1 - i { // until neither has a try more
		if t, more := next[i](); more {
			told(s[i].Name, t)
			ended = 0
		} else {
			ended++
		}
	}
	return found, cmp.Or(err, context.Cause(ctx))
}
