// Package loadagainst compares two servers under one load: slices of it go to one and the other in
// turns, so that what disturbs the machine disturbs both.
package loadagainst

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"postage/internal/feature/build"
	"postage/internal/stats"
	"postage/internal/sys/proc"
	"postage/load"
)

// A Side is one of the two servers.
type Side struct {
	Name   string
	Target *load.Target
	Server load.Server

	pool *load.Pool
	last load.ServerFigures // when they were read last

	// The server that Serve has started, if it has.
	process *proc.Process
	source  *build.Source // nil for the working tree
	said    proc.Output
}

// Sides are the old server and the new one.
type Sides [2]Side

// Open makes connections to both.
func (s *Sides) Open(ctx context.Context) (err error) {
	for i := range s {
		if s[i].pool, err = load.Open(ctx, s[i].Target); err != nil {
			return fmt.Errorf("%s: %w", s[i].Name, err)
		}
	}
	return nil
}

// Close ends the connections, and the servers that were started.
func (s *Sides) Close() error {
	var errs []error
	for i := range s {
		if s[i].pool != nil {
			errs = append(errs, s[i].pool.Close())
		}
		errs = append(errs, s[i].end())
	}
	return errors.Join(errs...)
}

// Bounds on what a calibration chooses.
const (
	shortestSlice, longestSlice   = 100 * time.Millisecond, 500 * time.Millisecond
	shortestSettle, longestSettle = 20 * time.Millisecond, 200 * time.Millisecond
)

// calibrationSwitches is how many times a calibration goes from one side to the other.
const calibrationSwitches = 8

// Calibrate chooses how long a slice is, and how long after a switch answers are not counted. A
// slice has a hundred requests, and lasts ten times as long as the slowest hundredth. After a
// switch, answers are not counted until two intervals come in which the mean latency is no more
// than a tenth above what it is in the second half.
//
// The header then also says where the sides' first answers differ.
func (s *Sides) Calibrate(ctx context.Context, plan load.Plan, h *Header) (err error) {
	if h.Differing, err = s.differing(ctx); err != nil {
		return err
	}
	plan.Every = max(10*time.Millisecond, time.Duration(5e3/h.Rate)*time.Millisecond)
	means := make([][]float64, max(2, 2*longestSettle/plan.Every))
	for turn := range calibrationSwitches {
		i := 0
		plan.Told = func(in load.Interval) {
			if i < len(means) && in.Done > 0 {
				means[i] = append(means[i], in.Latency.Mean())
			}
			i++
		}
		r, err := s[turn%2].run(ctx, plan, h.Rate, time.Duration(len(means))*plan.Every, h.Seed+uint64(turn))
		if err != nil {
			return err
		}
		p99 := time.Duration(r.Least.ValueAtQuantile(99))
		h.Slice = min(longestSlice, max(h.Slice, shortestSlice, 10*p99, time.Duration(100/h.Rate*1e9)))
	}
	h.Settle = min(longestSettle, max(shortestSettle, time.Duration(settled(means))*plan.Every))
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

// run sends one slice to a side. It is an error if nothing succeeds: then there is nothing to
// compare.
func (s *Side) run(ctx context.Context, plan load.Plan, rate float64, lasts time.Duration, seed uint64) (*load.Result, error) {
	plan.Lines, plan.Seed = s.pool.Lines, seed
	plan.Pacer = load.Constant{Rate: rate, For: lasts}
	r, err := load.Run(ctx, plan)
	if err := cmp.Or(err, context.Cause(ctx)); err != nil {
		return nil, err
	}
	if err := s.ended(); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	if r.Failed() == r.Done && r.Planned > 0 {
		most := append(r.Reasons(), "none was answered")
		return nil, fmt.Errorf("%s: all %d requests of a slice failed: %s", s.Name, r.Planned, most[0])
	}
	return r, nil
}

// Run measures pairs of slices until the record has as many seconds as its header asks for. Both
// sides of a pair have the same arrivals, in random order. It adds each pair to the record's file,
// which it closes at the end, and calls told.
func (s *Sides) Run(ctx context.Context, plan load.Plan, rec *Record, told func()) (err error) {
	defer func() { err = errors.Join(err, rec.out.Close()) }()
	for i := range s {
		side := &s[i]
		if side.last, err = side.Server.Now(ctx); err != nil {
			return err
		}
	}
	for rec.PairsLeft() > 0 {
		var pair Pair
		seed := rec.Header.Seed + calibrationSwitches + uint64(len(rec.Pairs))
		for _, i := range rand.Perm(2) {
			if pair[i], err = s[i].slice(ctx, plan, &rec.Header, seed); err != nil {
				return err
			}
		}
		if err := rec.write(pair); err != nil {
			return err
		}
		rec.Pairs = append(rec.Pairs, pair)
		told()
	}
	return nil
}

// slice sends requests until the server has settled, and then those that count.
func (s *Side) slice(ctx context.Context, plan load.Plan, h *Header, seed uint64) (out Slice, err error) {
	before, err := s.run(ctx, plan, h.Rate, h.Settle, ^seed)
	if err != nil {
		return out, err
	}
	r, err := s.run(ctx, plan, h.Rate, h.Slice, seed)
	if err != nil {
		return out, err
	}
	now, err := s.Server.Now(ctx)
	if err != nil {
		return out, err
	}
	totals := map[string]float64{
		"late":   float64(r.Planned - r.Account.SentOnTime),
		"errors": float64(r.Failed()),
		"paused": float64(r.Paused),
	}
	counted := float64(r.Planned) / float64(before.Planned+r.Planned)
	for name, used := range now.Since(s.last) {
		totals[name] = used * counted
	}
	s.last = now
	return Slice{Due: r.Planned, Latency: r.Least, Errors: r.Errors, Totals: totals}, nil
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
				err = errors.Join(err, failed)
				stop()
			}
		})
	}
	for searching := true; searching; {
		searching = false
		for i := range s {
			if t, more := next[i](); more {
				told(s[i].Name, t)
				searching = true
			}
		}
	}
	return found, cmp.Or(err, ctx.Err())
}
