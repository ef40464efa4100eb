package verdict

import (
	"fmt"
	"time"

	"postage/internal/kit/words"
	"postage/internal/stats"
	"postage/record"
)

// Recipe says which budget would give the rows of an inconclusive run enough time. It is "" for any
// other outcome, and where blocks have no rounds.
func (c *Changes) Recipe() string {
	timed := *c
	timed.Lost = false // more time does not help
	if !c.Paired || c.New.Run.Rounds == 0 || timed.Outcome() != Inconclusive {
		return ""
	}
	all := len(c.Rows) + c.Untimed
	const needed = stats.MinBlocks
	few, fewest := c.Untimed, needed
	for _, r := range c.Rows {
		if n := len(c.New.BlocksOf(r.New.Row.Case)); n < needed {
			few, fewest = few+1, min(fewest, max(1, n))
		}
	}
	if few == 0 {
		return "a larger --budget narrows the intervals, and so does measuring fewer rows"
	}
	// A row without a block will take as long as the others do, as far as is known.
	took := c.New.Run.Elapsed * needed / time.Duration(fewest) * time.Duration(all) / time.Duration(max(1, len(c.Rows)))
	budget := (took * 5 / 4).Truncate(time.Minute) + time.Minute
	return fmt.Sprintf("too little time for %d of %s, which want %d blocks each: give --budget %v, or measure fewer",
		few, words.Counted(all, "row"), needed, budget)
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
