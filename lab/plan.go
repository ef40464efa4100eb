package lab

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"postage/internal/kit/words"
)

const (
	// batchTarget is how long a batch should take: long enough that reading the clock and passing
	// the baton are negligible, short enough that all contenders of a round see the machine in the
	// same state.
	batchTarget = 10 * time.Millisecond
	// DefaultRounds is the number of rounds in a block; fewestRounds is what a tight
	// budget may bring it down to.
	DefaultRounds = 16
	fewestRounds  = 6
	firstRounds   = 8 // of a case's first block, as nobody knows yet how long it takes
	// leastRounds is how many rounds a block of long batches has at least.
	leastRounds = 4
	// setUpEstimate is what setting up and ending one worker takes, before the run knows better.
	setUpEstimate = 80 * time.Millisecond
	// setUpBatches is the same in batches, for cases whose batches are long.
	setUpBatches = 5
)

// looks are the numbers of blocks after which a case may be found done.
var looks = []int{6, 8, 10, 14, 20, 28, 40, 56}

// Plan is what a run will measure with its budget. How precise it gets shows as it goes on.
type Plan struct {
	Entries []Entry // all rows of the cases that fit
	Left    []Entry // all rows of the other cases
}

// All are the entries of all cases.
func (p *Plan) All() []Entry { return append(p.Entries[:len(p.Entries):len(p.Entries)], p.Left...) }

// NewPlan fits the cases into the budget. It leaves out cases until each of the others can have the
// blocks that an interval needs: first the dearest of those that want more than half of the budget,
// then from the end. It keeps at least one.
func NewPlan(entries []Entry, budget time.Duration) Plan {
	kept := byCase(entries)
	fewest := goals[len(goals)-1]
	var left [][]Entry
	for len(kept) > 1 && needed(fewest, kept...) > budget {
		last := len(kept) - 1
		for i := range kept {
			if needs := needed(fewest, kept[i]); needs > budget/2 && needs > needed(fewest, kept[last]) {
				last = i
			}
		}
		left = slices.Insert(left, 0, kept[last])
		kept = slices.Delete(kept, last, last+1)
	}
	return Plan{Entries: slices.Concat(kept...), Left: slices.Concat(left...)}
}

// needed is how long it takes to give the cases the goal's blocks.
func needed(g goal, cases ...[]Entry) (all time.Duration) {
	for _, rows := range cases {
		all += time.Duration(g.blocks) * estimatedOf(rows, g.rounds)
	}
	return all
}

// estimated is how long a block of so many rows takes, before the run knows better.
func estimated(rows int, batch time.Duration, rounds int) time.Duration {
	return time.Duration(rows) * (max(setUpEstimate, setUpBatches*batch) + time.Duration(rounds)*max(batchTarget, batch))
}

// estimatedOf is how long a block of a case's entries takes, before the run knows better.
func estimatedOf(rows []Entry, rounds int) time.Duration {
	possible := 0
	for i := range rows {
		if rows[i].Contender.NotPossible == "" {
			possible++
		}
	}
	return estimated(possible, rows[0].Case.Batch, rounds)
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
	if left := byCase(p.Left); len(left) > 0 {
		all := needed(goals[len(goals)-1], byCase(p.All())...).Truncate(time.Minute) + time.Minute
		fmt.Fprintf(&b, "; %s more with --budget %v:", words.Counted(len(left), "case"), all)
		for _, rows := range left {
			fmt.Fprintf(&b, " %s", rows[0].Case.Name)
		}
	}
	return b.String()
}
