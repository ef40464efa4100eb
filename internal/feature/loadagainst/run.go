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

// Turns is how the sides take turns: for how long each has the load, and how long after a switch
// answers are not counted; a block is so many slices of each.
type Turns struct {
	Rate          float64 // requests a second
	Slice, Settle time.Duration
	Block         int
}

// Blocks is how many blocks there are. Twelve have an interval a tenth wider than many have; more
// would leave too few requests in each for its own slowest hundredth.
const mostBlocks = 12

// Calibrate chooses how long a slice is, and how long after a switch answers are not counted. A
// slice has a hundred requests, and lasts ten times as long as the slowest hundredth. After a
// switch, answers are not counted until two intervals come in which the mean latency is no more
// than a tenth above what it is in the second half.
//
// The record then also says where the sides' first answers differ.
func (s *Sides) Calibrate(ctx context.Context, plan load.Plan, rate float64, rec *record.Record) (t Turns, err error) {
	if rec.Run.Warnings, err = s.differing(ctx); err != nil {
		return t, err
	}
	t.Rate = rate
	plan.Every = max(10*time.Millisecond, time.Duration(5e3/rate)*time.Millisecond)
	means := make([][]float64, max(2, 2*longestSettle/plan.Every))
	for turn := range calibrationSwitches {
		i := 0
		plan.Told = func(in load.Interval) {
			if i < len(means) && in.Done > 0 {
				means[i] = append(means[i], in.Latency.Mean())
			}
			i++
		}
		r, err := s[turn%2].run(ctx, plan, rate, time.Duration(len(means))*plan.Every, rec.Run.Seed+uint64(turn))
		if err != nil {
			return t, err
		}
		p99 := time.Duration(r.Least.ValueAtQuantile(99))
		t.Slice = min(longestSlice, max(t.Slice, shortestSlice, 10*p99, time.Duration(100/rate*1e9)))
	}
	t.Settle = min(longestSettle, max(shortestSettle, time.Duration(settled(means))*plan.Every))
	blocks := min(mostBlocks, max(stats.MinBlocks, int(rate*rec.Run.Budget.Seconds()/2*0.01/leastTail)))
	t.Block = int(math.Ceil(float64(rec.Run.Budget) / float64(blocks) / float64(2*(t.Slice+t.Settle))))
	for i := range rec.Rows {
		rec.Rows[i].Settings["slice"], rec.Rows[i].Settings["settle"] = t.Slice.Round(time.Millisecond).String(), t.Settle.String()
	}
	return t, nil
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
func (s *Sides) Run(ctx context.Context, plan load.Plan, t Turns, rec *record.Record, save func() error) (err error) {
	for i := range s {
		side := &s[i]
		if side.last, err = side.Server.Now(ctx); err != nil {
			return err
		}
	}
	for rec.Run.Elapsed < rec.Run.Budget || len(rec.Blocks) < stats.MinBlocks {
		begun, block := time.Now(), record.Block{Case: rec.Rows[0].Case, Number: len(rec.Blocks) + 1}
		var both [2]counts
		for pair := range t.Block {
			seed := rec.Run.Seed + calibrationSwitches + uint64(block.Number*t.Block+pair)
			for _, i := range rand.Perm(2) {
				if err := s[i].slice(ctx, plan, &t, seed, &both[i]); err != nil {
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
		rec.Blocks, rec.Run.Elapsed = append(rec.Blocks, block), rec.Run.Elapsed+block.Elapsed
		rec.Run.Complete = rec.Run.Elapsed >= rec.Run.Budget && len(rec.Blocks) >= stats.MinBlocks
		if err := save(); err != nil {
			return err
		}
	}
	return nil
}

// slice sends requests until the server has settled, and then those that count.
func (s *Side) slice(ctx context.Context, plan load.Plan, t *Turns, seed uint64, sum *counts) error {
	before, err := s.run(ctx, plan, t.Rate, t.Settle, ^seed)
	if err != nil {
		return err
	}
	r, err := s.run(ctx, plan, t.Rate, t.Slice, seed)
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
func (s *Sides) Search(ctx context.Context, plan load.Plan, objectives []load.Objective, told func(side string, t load.Try)) (found [2]Capacity, err error) {
	both, stop := context.WithCancel(ctx)
	defer stop()
	var next [2]func() (load.Try, bool)
	for i := range s {
		next[i], _ = iter.Pull(func(yield func(load.Try) bool) {
			plan := plan
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
