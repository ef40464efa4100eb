// Package loadagainst compares two servers under one load: slices of it go to one and the other in
// turns, so that what disturbs the machine disturbs both.
package loadagainst

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"postage/internal/stats"
	"postage/load"
)

// A Side is one of the two servers.
type Side struct {
	Name   string
	Pool   *load.Pool
	Server load.Server

	last    load.ServerFigures // when they were read last
	started started
}

// Sides are the old server and the new one.
type Sides [2]Side

// Close ends the connections, and the servers that were started.
func (s *Sides) Close() error {
	var errs []error
	for i := range s {
		if s[i].Pool != nil {
			errs = append(errs, s[i].Pool.Close())
		}
		errs = append(errs, s[i].started.close())
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
// switch, answers are not counted until two intervals have passed in which the mean latency is no
// more than a tenth above the mean of the second half.
func (s *Sides) Calibrate(ctx context.Context, plan load.Plan, h *Header) error {
	every := max(10*time.Millisecond, time.Duration(5/h.Rate*1e9))
	intervals := int(2 * longestSettle / every)
	means := make([][]float64, max(2, intervals))
	plan.Every = every
	for turn := range calibrationSwitches {
		i := 0
		plan.Told = func(in load.Interval) {
			if i < len(means) && in.Done > 0 {
				means[i] = append(means[i], in.Latency.Mean())
			}
			i++
		}
		r, err := s[turn%2].run(ctx, plan, h.Rate, time.Duration(len(means))*every, h.Seed+uint64(turn))
		if err != nil {
			return err
		}
		p99 := time.Duration(r.Least.ValueAtQuantile(99))
		h.Slice = min(longestSlice, max(h.Slice, shortestSlice, 10*p99, time.Duration(100/h.Rate*1e9)))
	}
	h.Settle = min(longestSettle, max(shortestSettle, every*time.Duration(settled(means))))
	return nil
}

// settled returns the number of intervals until latencies are as they stay.
func settled(means [][]float64) int {
	middle := make([]float64, len(means))
	for i, all := range means {
		middle[i] = stats.Median(all)
	}
	stays := 1.1 * stats.Median(slices.DeleteFunc(slices.Clone(middle[len(middle)/2:]), math.IsNaN))
	for i := range len(middle) - 1 {
		if middle[i] <= stays && middle[i+1] <= stays {
			return i
		}
	}
	return len(middle)
}

// run sends one slice to a side. It is an error if nothing succeeds: then there is nothing to
// compare.
func (s *Side) run(ctx context.Context, plan load.Plan, rate float64, lasts time.Duration, seed uint64) (*load.Result, error) {
	plan.Lines, plan.Seed = s.Pool.Lines, seed
	plan.Pacer = load.Constant{Rate: rate, For: lasts}
	r, err := load.Run(ctx, plan)
	if err == nil && ctx.Err() == nil {
		err = s.fault(r)
	}
	return r, err
}

func (s *Side) fault(r *load.Result) error {
	if err := s.started.ended(); err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	if r.Failed() < r.Done || r.Planned == 0 {
		return nil
	}
	most := append(r.Reasons(), "none was answered")
	return fmt.Errorf("%s: all %d requests of a slice failed: %s", s.Name, r.Planned, most[0])
}

// Run measures pairs of slices until the record has as many seconds as its header asks for. told is
// called after each pair.
func (s *Sides) Run(ctx context.Context, plan load.Plan, rec *Record, told func()) (err error) {
	for i := range s {
		side := &s[i]
		if side.last, err = side.Server.Now(ctx); err != nil {
			return err
		}
	}
	for left := rec.PairsLeft(); left > 0; left-- {
		pair, err := s.pair(ctx, plan, &rec.Header, uint64(len(rec.Pairs)))
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		if err := rec.add(pair); err != nil {
			return err
		}
		told()
	}
	return nil
}

// pair sends the same arrivals to both sides, in random order.
func (s *Sides) pair(ctx context.Context, plan load.Plan, h *Header, number uint64) (p Pair, err error) {
	first := rand.IntN(2)
	for _, i := range []int{first, 1 - first} {
		if p[i], err = s[i].slice(ctx, plan, h, h.Seed+calibrationSwitches+number); err != nil {
			return p, err
		}
	}
	return p, nil
}

// slice sends requests until the server has settled, and then those that count.
func (s *Side) slice(ctx context.Context, plan load.Plan, h *Header, seed uint64) (Slice, error) {
	before, err := s.run(ctx, plan, h.Rate, h.Settle, ^seed)
	if err != nil || ctx.Err() != nil {
		return Slice{}, err
	}
	r, err := s.run(ctx, plan, h.Rate, h.Slice, seed)
	if err != nil || ctx.Err() != nil {
		return Slice{}, err
	}
	figures, err := s.Server.Now(ctx)
	if err != nil {
		return Slice{}, err
	}
	out := Slice{
		Due: r.Planned, Answered: r.Done, Errors: r.Errors, OnTime: r.Account.SentOnTime,
		Latency: r.Least, Paused: r.Paused, Used: figures.Since(s.last), UsedFor: before.Done + r.Done,
	}
	s.last = figures
	return out, nil
}
