package lab

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"postage/internal/stats"
	"postage/internal/words"
)

const (
	// batchTarget is how long a batch should take: long enough that reading the clock and passing
	// the baton are negligible, short enough that all contenders of a round see the machine in the
	// same state.
	batchTarget = 7500 * time.Microsecond
	// DefaultRounds is the number of rounds in a block; fewestRounds is what a tight
	// budget may bring it down to.
	DefaultRounds = 24
	fewestRounds  = 4
	// setUpEstimate is what starting, proving and ending one worker takes, before the
	// run knows better.
	setUpEstimate = 100 * time.Millisecond
	// setUpBatches is the same for cases whose batches are long: the proof and the warm-up
	// are about as many.
	setUpBatches = 5
)

// looks are the numbers of blocks after which a case may be found done.
var looks = []int{stats.MinBlocks, 10, 14, 20, 28, 40, 56}

// Plan is what a run will measure with its budget, as far as can be said before it: how
// precise it gets shows in its first look.
type Plan struct {
	Entries []Entry // of the cases that fit, all their rows
	Left    []Entry // of the cases that do not, unless time remains
	Rounds  int
}

// All are the entries of all cases.
func (p *Plan) All() []Entry { return append(p.Entries[:len(p.Entries):len(p.Entries)], p.Left...) }

// NewPlan fits the rows into the budget: first the rounds of a block are reduced, then cases are
// left out from the end, until each that is left can have the blocks that an interval needs.
func NewPlan(entries []Entry, budget time.Duration) Plan {
	cases := byCase(entries)
	// A quarter is kept for what takes longer than estimated.
	kept, rounds := fitted(len(cases), DefaultRounds, budget/4*3, func(i, rounds int) time.Duration {
		return time.Duration(looks[0]) * estimated(cases[i], rounds)
	})
	return Plan{Entries: slices.Concat(cases[:kept]...), Left: slices.Concat(cases[kept:]...), Rounds: rounds}
}

// fitted reduces the rounds of a block, and then the number of cases, but for one, until all that
// they take fits into the time.
func fitted(cases, rounds int, available time.Duration, takes func(i, rounds int) time.Duration) (kept, fewer int) {
	all := func() (d time.Duration) {
		for i := range cases {
			d += takes(i, rounds)
		}
		return d
	}
	for rounds > fewestRounds && all() > available {
		rounds--
	}
	for cases > 1 && all() > available {
		cases--
	}
	return cases, rounds
}

// estimated is what a block of a case takes, before the run knows better.
func estimated(rows []Entry, rounds int) (d time.Duration) {
	for i := range rows {
		if rows[i].Contender.NotPossible == "" {
			batch := max(batchTarget, rows[i].Case.Batch)
			d += max(setUpEstimate, setUpBatches*rows[i].Case.Batch) + time.Duration(rounds)*batch
		}
	}
	return d
}

// byCase groups entries that stand together.
func byCase(entries []Entry) [][]Entry {
	var cases [][]Entry
	for i, e := range entries {
		if i == 0 || e.Case != entries[i-1].Case {
			cases = append(cases, nil)
		}
		cases[len(cases)-1] = append(cases[len(cases)-1], e)
	}
	return cases
}

// Describe says in words what will be measured.
func (p *Plan) Describe(budget time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s, budget %v", words.Counted(len(byCase(p.Entries)), "case"), words.Counted(len(p.Entries), "row"), budget)
	if p.Rounds < DefaultRounds {
		fmt.Fprintf(&b, "; %d rounds a block in place of %d", p.Rounds, DefaultRounds)
	}
	if left := byCase(p.Left); len(left) > 0 {
		fmt.Fprintf(&b, "; %s more if time remains, else with a larger --budget:", words.Counted(len(left), "case"))
		for _, rows := range left {
			fmt.Fprintf(&b, " %s", rows[0].Case.Name)
		}
	}
	return b.String()
}
