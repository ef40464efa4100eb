// Package loadagainst compares two servers under one load: slices of it go to one and the other in
// turns, so that what disturbs the machine disturbs both.
package loadagainst

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"postage/internal/stats"
	"postage/load"
)

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

// Run measures pairs of slices until the record has as many seconds as its header asks for. Both
// sides of a pair have the same arrivals, in random order. It writes the record, and each pair as
// soon as there is one, and then calls told.
func (s *Sides) Run(ctx context.Context, plan load.Plan, rec *Record, w io.Writer, told func()) (err error) {
	lines := json.NewEncoder(w)
	err = lines.Encode(rec.Header)
	for _, pair := range rec.Pairs {
		err = cmp.Or(err, lines.Encode(pair))
	}
	for i := range s {
		if err == nil {
			s[i].last, err = s[i].Server.Now(ctx)
		}
	}
	for err == nil && rec.PairsLeft() > 0 {
		var pair Pair
		seed := rec.Header.Seed + calibrationSwitches + uint64(len(rec.Pairs))
		for _, i := range rand.Perm(2) {
			if pair[i], err = s[i].slice(ctx, plan, &rec.Header, seed); err != nil {
				return err
			}
		}
		rec.Pairs = append(rec.Pairs, pair)
		err = lines.Encode(pair)
		told()
	}
	return err
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
	out = Slice{Due: r.Planned, Latency: r.Least, Errors: r.Errors, Totals: map[string]float64{
		"late": float64(r.Planned - r.Account.SentOnTime), "errors": float64(r.Failed()), "paused": float64(r.Paused),
	}}
	for name, used := range now.Since(s.last) {
		out.Totals[name] = used * float64(r.Planned) / float64(before.Planned+r.Planned)
	}
	s.last = now
	return out, nil
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
