package lab

import (
	"fmt"
	"math"
	"strings"
	"time"

	"postage/internal/words"
	"postage/stats"
)

const (
	// batchTarget is how long a batch shall take: long enough that a clock reading and
	// the passing of the baton are nothing beside it, short enough that all contenders
	// of a round see the machine in the same mood.
	batchTarget = 7500 * time.Microsecond
	// DefaultRounds is the number of rounds in a block; fewestRounds is what a tight
	// budget may bring it down to.
	DefaultRounds = 20
	fewestRounds  = 4
	// setUpEstimate is what starting, proving and ending one worker takes, before the
	// run knows better.
	setUpEstimate = 40 * time.Millisecond
	// setUpBatches is the same for cases whose batches are long: the proof and the warm-up
	// are about as many.
	setUpBatches = 5
	// typicalBlockSD is the standard deviation of a block value (the difference of two
	// fresh processes, on the log scale) that docs/method.md found; it is only used to
	// say what precision to expect.
	typicalBlockSD = 0.02
)

// looks are the numbers of blocks after which a case may be found done.
var looks = []int{stats.MinBlocks, 10, 14, 20, 28, 40, 56}

// Plan is what a run will measure with its budget.
type Plan struct {
	Entries []Entry // of the cases that fit, all their rows
	Left    []Entry // of the cases that do not
	Rounds  int
	// Blocks is how many blocks a case can expect, Precision the half-width.
	Blocks    int
	Precision float64
	// Needed is the budget with which every case could expect the precision asked for.
	Needed time.Duration
}

// NewPlan fits the rows into the budget: first the rounds of a block are reduced, then
// cases are left out from the end, until each that is left can have the blocks that
// an interval needs.
func NewPlan(entries []Entry, budget time.Duration, precision float64) Plan {
	cases := byCase(entries)
	block := func(cases [][]Entry, rounds int) (d time.Duration) {
		for _, rows := range cases {
			for i := range rows {
				if rows[i].Contender.NotPossible == "" {
					batch := max(batchTarget, rows[i].Case.Batch)
					d += max(setUpEstimate, setUpBatches*rows[i].Case.Batch) + time.Duration(rounds)*batch
				}
			}
		}
		return d
	}
	p := Plan{Rounds: DefaultRounds}
	// A quarter is kept for what takes longer than estimated.
	sure := budget / 4 * 3
	for p.Rounds > fewestRounds && time.Duration(looks[0])*block(cases, p.Rounds) > sure {
		p.Rounds--
	}
	kept := len(cases)
	for kept > 1 && time.Duration(looks[0])*block(cases[:kept], p.Rounds) > sure {
		kept--
	}
	for i, rows := range cases {
		if i < kept {
			p.Entries = append(p.Entries, rows...)
		} else {
			p.Left = append(p.Left, rows...)
		}
	}
	if one := block(cases[:kept], p.Rounds); one > 0 {
		p.Blocks = min(looks[len(looks)-1], int(budget/one))
		p.Precision = expectedPrecision(p.Blocks)
	}
	p.Needed = time.Duration(blocksFor(precision)) * block(cases, DefaultRounds)
	return p
}

// expectedPrecision is the half-width that so many blocks give on a usual machine.
func expectedPrecision(blocks int) float64 {
	if blocks < looks[0] {
		return math.Inf(1)
	}
	return 2.2 * typicalBlockSD / math.Sqrt(float64(blocks))
}

func blocksFor(precision float64) int {
	for _, look := range looks {
		if expectedPrecision(look) <= precision {
			return look
		}
	}
	return looks[len(looks)-1]
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
func (p *Plan) Describe(budget time.Duration, precision float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s, budget %v: ", words.Counted(len(byCase(p.Entries)), "case"), words.Counted(len(p.Entries), "row"), budget)
	if p.Blocks < looks[0] {
		fmt.Fprintf(&b, "about %s a case, too few for an interval (%d)", words.Counted(p.Blocks, "block"), looks[0])
	} else {
		fmt.Fprintf(&b, "about %s a case, expect ±%.1f%% of a ratio", words.Counted(p.Blocks, "block"), 100*p.Precision)
	}
	if p.Rounds < DefaultRounds {
		fmt.Fprintf(&b, "; %d rounds a block in place of %d", p.Rounds, DefaultRounds)
	}
	if left := byCase(p.Left); len(left) > 0 {
		fmt.Fprintf(&b, "; the budget is too small for %s more:", words.Counted(len(left), "case"))
		for _, rows := range left {
			fmt.Fprintf(&b, " %s", rows[0].Case.Name)
		}
	}
	if p.Precision > precision && p.Needed > budget {
		fmt.Fprintf(&b, "; for ±%.1f%% everywhere give --budget %v", 100*precision, p.Needed.Round(10*time.Second))
	}
	return b.String()
}
