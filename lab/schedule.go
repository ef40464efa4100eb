package lab

import (
	"math"
	"slices"
	"time"

	"postage/internal/stats"
)

// turns is what the schedule knows of a case. Nothing here starts a process or reads a clock.
type turns struct {
	rows      int           // how many take part
	layouts   int           // function layouts of its programs, 0 for one
	batch     time.Duration // the suite's estimate of how long a batch takes
	blocks    int           // how many the row with fewest has
	halfWidth float64       // of the widest interval, +Inf before there is one
	done      bool
	// What past blocks took, a row: one round, and everything else that every block does.
	round, fixed []time.Duration
}

// took keeps how long a block of so many rows took: one round, and everything else that every block
// does.
func (t *turns) took(rows int, fixed, round time.Duration) {
	t.fixed = append(t.fixed, fixed/time.Duration(rows))
	t.round = append(t.round, round/time.Duration(rows))
}

// goal is what a run tries to give every case before it narrows the widest interval: blocks of at
// least so many rounds.
type goal struct{ blocks, rounds int }

// goals are tried in order: the first that there is time for. With eight blocks Student's interval
// is a fifth wider than with many, with six a third, with four six tenths. Twelve rounds take twice
// as long as setting up. In fewer than eight, a row that allocates meets too few collections of
// garbage (docs/evidence/method.md, Rounds).
var goals = []goal{{8, 12}, {7, 12}, {6, 12}, {6, 8}, {5, 8}, {stats.MinBlocks, fewestRounds}}

// scaled is how many rounds a block of this case has where other cases have rounds. It has fewer if
// its batches take more than twice the target time.
func (t *turns) scaled(rounds int) int {
	if t.batch > 2*batchTarget {
		return max(min(rounds, leastRounds), int(time.Duration(rounds)*2*batchTarget/t.batch))
	}
	return rounds
}

// takes is how long a block of scaled(rounds) rounds takes.
func (t *turns) takes(rounds int) time.Duration {
	rounds = t.scaled(rounds)
	if len(t.round) == 0 {
		return estimated(t.rows, t.batch, rounds)
	}
	return time.Duration(t.rows) * (lower(t.fixed) + time.Duration(rounds)*lower(t.round))
}

// lower is the lower median: a block that met a hang does not make the next one long.
func lower(times []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(times))[(len(times)-1)/2]
}

// missing is how long it takes to give every case so many blocks.
func missing(cases []*turns, blocks, rounds int) (all time.Duration) {
	for _, t := range cases {
		if !t.done {
			all += time.Duration(max(0, blocks-t.blocks)) * t.takes(rounds)
		}
	}
	return all
}

// longRounds is how many rounds a block has at most where each block has a function layout of its
// own: only layouts tell anything independent of each other, so that time goes into their blocks. In
// 16 rounds an encoder of 256 bytes meets no collection or one, which is 7% of its block
// (docs/evidence/method.md, The gate).
const longRounds = 3 * DefaultRounds

// inReach is the first goal that the time is enough for, with as many rounds as fit. It is the last
// goal if the time is enough for none. A tenth of the time is kept for blocks that take longer than
// earlier ones.
func inReach(cases []*turns, left time.Duration) goal {
	layouts := 0
	for _, t := range cases {
		layouts = max(layouts, t.layouts)
	}
	for rounds := longRounds; layouts > 0 && rounds > DefaultRounds; rounds-- {
		if missing(cases, layouts, rounds) <= left*9/10 {
			return goal{layouts, rounds}
		}
	}
	for _, g := range goals {
		for rounds := DefaultRounds; rounds >= g.rounds; rounds-- {
			if missing(cases, g.blocks, rounds) <= left*9/10 {
				return goal{g.blocks, rounds}
			}
		}
	}
	return goals[len(goals)-1]
}

// next is the case that gets the next block, and how many rounds the block has.
//
//  1. While cases have fewer blocks than the goal, it is the case with fewest, so that a bad minute
//     does not hit one case alone. Of several it is the one that takes least.
//  2. Then it is the case whose widest interval a second narrows most.
//
// It is nil if the time is enough for no case. The very first block is measured even then, as it
// may take less than estimated.
func next(cases []*turns, left time.Duration) (best *turns, rounds int) {
	g := inReach(cases, left)
	nothing := left > 0 && !slices.ContainsFunc(cases, func(t *turns) bool { return len(t.round) > 0 })
	behind := func(t *turns) int { return max(0, g.blocks-t.blocks) }
	for _, t := range cases {
		if t.done || t.takes(fewestRounds) > left && !nothing {
			continue
		}
		switch {
		case best == nil, behind(t) > behind(best):
			best = t
		case behind(t) < behind(best):
		case behind(t) > 0 && t.takes(g.rounds) < best.takes(g.rounds), behind(t) == 0 && t.gain() > best.gain():
			best = t
		}
	}
	if best == nil {
		return nil, 0
	}
	rounds = max(DefaultRounds, g.rounds)
	if behind(best) > 0 {
		rounds = g.rounds
	}
	if len(best.round) == 0 && best.layouts == 0 {
		rounds = min(rounds, firstRounds)
	}
	for rounds > fewestRounds && best.takes(rounds) > left {
		rounds--
	}
	return best, best.scaled(rounds)
}

// gain is how much one more second narrows the case's widest interval.
func (t *turns) gain() float64 {
	return t.halfWidth * (1 - width(t.blocks+1)/width(t.blocks)) / max(1e-9, t.takes(DefaultRounds).Seconds())
}

// width is the relative width of an interval of so many blocks: about Student's t over the root of
// their number.
func width(blocks int) float64 {
	n := float64(blocks)
	return (1.96 + 3/max(1, n-1)) / math.Sqrt(n)
}

// costliest is the case that should lose a row because the time is not enough for an interval of
// each row. It is nil if the time is enough, or if losing rows would not help: figures without an
// interval are better than none. A case without a block loses no row, as nobody knows yet which is
// missed least.
func costliest(cases []*turns, left time.Duration) (most *turns) {
	last := goals[len(goals)-1]
	if missing(cases, last.blocks, last.rounds) <= left {
		return nil
	}
	rest := func(t *turns) time.Duration { return missing([]*turns{t}, last.blocks, last.rounds) }
	var least time.Duration // with as few rows as there may be
	for _, t := range cases {
		least += rest(t) * time.Duration(min(t.rows, fewestRows)) / time.Duration(max(1, t.rows))
	}
	if least > left {
		return nil
	}
	for _, t := range cases {
		if t.rows > fewestRows && len(t.round) > 0 && rest(t) > 0 && (most == nil || rest(t) > rest(most)) {
			most = t
		}
	}
	return most
}

// fewestRows is what a case keeps: its baseline, its control, and a choice of two.
const fewestRows = 4
