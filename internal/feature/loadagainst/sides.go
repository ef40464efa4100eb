// Package loadagainst compares two servers under one load: slices of it go to one and the other in
// turns, so that what disturbs the machine disturbs both.
package loadagainst

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"net"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"postage/internal/feature/build"
	"postage/internal/stats"
	"postage/internal/sys/proc"
	"postage/load"
	"postage/record"
)

// A Side is one of the two servers.
type Side struct {
	Name string

	target *load.Target
	pool   *load.Pool
	server load.Server
	last   load.ServerFigures // when they were read last
	ends   []func() error     // of what Close ends
}

// Sides are the old server and the new one.
type Sides [2]Side

// Open makes connections to a side's target. The server is asked for what it uses, see
// [load.ParseServer], unless Serve has started it.
func (s *Side) Open(ctx context.Context, target *load.Target, server string) (err error) {
	if s.server.PID == 0 {
		if s.server, err = load.ParseServer(server); err != nil {
			return err
		}
	}
	s.target = target
	if s.pool, err = load.Open(ctx, target); err == nil {
		s.ends = append(s.ends, s.pool.Close)
	}
	return err
}

// Close ends the connections, and the servers that were started, with all that these have started.
func (s *Sides) Close() (err error) {
	for i := range s {
		for _, end := range slices.Backward(s[i].ends) {
			err = errors.Join(err, end())
		}
	}
	return err
}

// Serve starts the side's server in a revision's code, or for "" in the working tree's, by a shell's
// command, with an address of 127.0.0.1 in place of each {addr}. It waits until something listens
// there. fail, which ends ctx, is told if the server ends.
func (s *Side) Serve(ctx context.Context, fail context.CancelCauseFunc, command, revision string) (addr string, err error) {
	port, err := proc.FreePort()
	if err != nil {
		return "", err
	}
	addr = fmt.Sprintf("127.0.0.1:%d", port)
	cmd := exec.Command("sh", "-c", strings.ReplaceAll(command, "{addr}", addr))
	said := &proc.Output{}
	cmd.Stdout, cmd.Stderr = said, said
	if revision != "" {
		source, err := build.Revision(ctx, ".", revision)
		if err != nil {
			return "", err
		}
		s.ends = append(s.ends, source.Close)
		if cmd.Dir, err = source.Folder(ctx); err != nil {
			return "", err
		}
	}
	process, err := proc.StartSession(cmd)
	if err != nil {
		return "", err
	}
	s.ends = append(s.ends, func() error { process.KillGroup(); return nil })
	s.server.PID = process.PID // the shell, which has the server as its child
	go func() {
		<-process.Done
		fail(fmt.Errorf("%s: the server has ended (%v): it said\n%s", s.Name, process.Err(), said))
	}()
	for begun := time.Now(); ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		if conn, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
			return addr, conn.Close()
		}
		if time.Since(begun) > startWithin {
			return "", fmt.Errorf("nothing listens on %s after %v: the server said\n%s", addr, startWithin, said)
		}
	}
	return "", context.Cause(ctx)
}

// run sends requests to a side. It is an error if none succeeds: then there is nothing to compare.
func (s *Side) run(ctx context.Context, t *Turns, lasts time.Duration, seed uint64) (*load.Result, error) {
	plan := t.Plan
	plan.Lines, plan.Seed = s.pool.Lines, seed
	plan.Pacer = load.Constant{Rate: t.Rate, For: lasts}
	if t.AtOnce {
		plan.Pacer = load.Constant{Rate: t.Rate / 2, For: 2 * lasts}
	}
	r, err := load.Run(ctx, plan)
	if err := cmp.Or(err, context.Cause(ctx)); err != nil {
		return nil, err
	}
	if r.Failed() == r.Done && r.Planned > 0 {
		most := append(r.Reasons(), "none was answered")
		return nil, fmt.Errorf("%s: all %d requests of a slice failed: %s", s.Name, r.Planned, most[0])
	}
	return r, nil
}

// differing sends the first requests to both sides, and says where statuses or bodies differ. Only
// answers of HTTP are compared.
func (s *Sides) differing(ctx context.Context) (notes []string, err error) {
	for i, r := range s[1].target.All() {
		if i == comparedAnswers || !strings.HasPrefix(s[1].target.Proto, "http") {
			break
		}
		var answers [2]string
		for side := range s {
			if answers[side], err = s[side].answer(ctx, i); err != nil {
				return nil, fmt.Errorf("%s: %w", s[side].Name, err)
			}
		}
		note := fmt.Sprintf("%s %s: the old side answers %s, the new %s", r.Method, r.URL.Path, answers[0], answers[1])
		if answers[0] != answers[1] && !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	return notes, nil
}

// answer sends one of the target's requests, and says what is answered.
func (s *Side) answer(ctx context.Context, request int) (said string, err error) {
	one := *s.target
	one.Conns, one.Streams, one.Requests = 1, 1, one.All()[request:request+1]
	one.Expect = func(status int) bool {
		said = load.StatusName(status)
		return true
	}
	one.Body = func(body []byte) error {
		said += fmt.Sprintf(" with %d bytes (CRC %08x)", len(body), crc32.ChecksumIEEE(body))
		return nil
	}
	pool, err := load.Open(ctx, &one)
	if err != nil {
		return "", err
	}
	defer pool.Close()
	_, err = load.Run(ctx, load.Plan{Pacer: load.Constant{For: time.Minute}, Most: 1, Lines: pool.Lines})
	return cmp.Or(said, "nothing"), err
}

// A calibration goes so many times from one side to the other, and chooses within these bounds. At
// once, slices and what is not counted of them last twice as long.
const (
	calibrationSwitches           = 8
	shortestSlice, longestSlice   = 100 * time.Millisecond, 500 * time.Millisecond
	shortestSettle, longestSettle = 20 * time.Millisecond, 200 * time.Millisecond

	leastTail  = 3  // so many requests of a block must be slower than a percentile for that to be known
	mostBlocks = 12 // more would leave too few requests in each for its own slowest hundredth

	startWithin     = 5 * time.Minute // until a server listens; `go run` builds it first
	comparedAnswers = 20              // so many requests are sent to both sides first, to compare the answers
)

// Turns is how the sides take turns.
type Turns struct {
	Plan   load.Plan
	Rate   float64 // requests a second
	AtOnce bool    // both slices of a pair are sent at once, at half of the rate

	slice, settle time.Duration // after a switch, answers are not counted until the server has settled
	block         int           // slices of each side
}

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
		side := &s[turn%2]
		r, err := side.run(ctx, &told, time.Duration(len(means))*every, rec.Run.Seed+uint64(turn))
		if err != nil {
			return err
		}
		if side.last, err = side.server.Now(ctx); err != nil {
			return err
		}
		p99 := time.Duration(r.Least.ValueAtQuantile(99))
		t.slice = min(longestSlice, max(t.slice, shortestSlice, 10*p99, time.Duration(100/t.Rate*1e9)))
	}
	t.settle = min(longestSettle, max(shortestSettle, time.Duration(settled(means))*every))
	lasts := rec.Run.Budget.Seconds() / 2 // of each side
	blocks := min(mostBlocks, max(stats.MinBlocks, int(t.Rate*lasts*0.01/leastTail)))
	t.block = int(math.Ceil(lasts / float64(blocks) / (t.slice + t.settle).Seconds()))
	rec.Rows[0].Settings["slices"] = fmt.Sprintf("%d slices of %.0f requests a block, each after %.0f that are not counted",
		t.block, t.Rate*t.slice.Seconds(), t.Rate*t.settle.Seconds())
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
func (s *Sides) Run(ctx context.Context, t *Turns, rec *record.Record, save func() error) error {
	for rec.Run.Elapsed < rec.Run.Budget || len(rec.Blocks) < stats.MinBlocks {
		begun := time.Now()
		block := record.Block{Case: rec.Rows[0].Case, Number: len(rec.Blocks) + 1}
		both := [2]counts{{totals: map[string]float64{}}, {totals: map[string]float64{}}}
		for pair := range t.block {
			seed := rec.Run.Seed + calibrationSwitches + uint64(block.Number*t.block+pair)
			var failures [2]error
			var sent sync.WaitGroup
			for _, i := range rand.Perm(2) {
				sent.Go(func() { failures[i] = s[i].slice(ctx, t, seed, &both[i]) })
				if !t.AtOnce {
					sent.Wait()
				}
			}
			sent.Wait()
			if err := cmp.Or(failures[0], failures[1]); err != nil {
				return err
			}
		}
		block.Series = []record.Series{both[0].series(rec, 0), both[1].series(rec, 1)}
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
	now, err := s.server.Now(ctx)
	if err != nil {
		return err
	}
	latencies, err := r.Least.MarshalText()
	sum.slices = append(sum.slices, string(latencies))
	sum.latency.Add(r.Least)
	sum.due += float64(r.Planned)
	sum.totals["late/op"] += float64(r.Planned - r.Account.SentOnTime)
	sum.totals["errors/op"] += float64(r.Failed())
	for why, n := range r.Errors {
		sum.totals[failed+notInUnit.ReplaceAllString(why, "_")+"/op"] += float64(n)
	}
	for name, used := range now.Since(s.last) {
		sum.totals[units[name]] += used * float64(r.Planned) / float64(before.Planned+r.Planned)
	}
	s.last = now
	return err
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
	both, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	turn := make(chan struct{}, 1) // has an element while a side is tried
	var searches sync.WaitGroup
	for i := range s {
		plan := plan
		plan.Lines = s[i].pool.Lines
		searches.Go(func() {
			turn <- struct{}{}
			best, limit, err := load.Search(both, plan, objectives, func(t load.Try) {
				told(s[i].Name, t)
				<-turn
				turn <- struct{}{} // after the other side, which waits
			})
			<-turn
			found[i].Missed = limit.Missed
			if best != nil {
				found[i].Rate = best.Rate
			}
			if err != nil {
				stop(fmt.Errorf("%s: %w", s[i].Name, err))
			}
		})
	}
	searches.Wait()
	return found, context.Cause(both)
}
