package verdict

import (
	"fmt"
	"math"
	"time"

	"postage/internal/kit/words"
	"postage/internal/stats"
	"postage/record"
)

// Recipe says which budget would give the rows of an inconclusive run enough time. It is "" for any
// other outcome.
func (c *Changes) Recipe() string {
	timed := *c
	timed.Lost = false // more time does not help them
	if !c.Paired || timed.Outcome() != Inconclusive {
		return ""
	}
	all := len(c.Rows) + c.Untimed
	needed, fewest, few := stats.MinBlocks, math.MaxInt, c.Untimed
	for _, r := range c.Rows {
		if n := len(c.New.BlocksOf(r.New.Row.Case)); n < needed {
			few, fewest = few+1, min(fewest, n)
		}
	}
	if few == 0 {
		return "a larger --budget narrows the intervals, and so does measuring fewer rows"
	}
	if c.Untimed > 0 {
		fewest = 1
	}
	budget := time.Duration(float64(c.New.Run.Elapsed)*float64(needed)/float64(max(1, fewest))*1.2).Truncate(time.Minute) + time.Minute
	return fmt.Sprintf("too little time for %d of %s, which want %d blocks each: give --budget %v, or measure fewer", few, words.Counted(all, "row"), needed, budget)
}

// untimed counts the old versions that there was no time for.
func untimed(rec *record.Record) (n int) {
	for i := range rec.Rows {
		if r := &rec.Rows[i]; r.OldOf != "" && r.Proof.Is(record.ProofNotMeasured) {
			n++
		}
	}
	return n
}
