package cli

import (
	"math/rand/v2"
	"testing"

	"postage/internal/recordtest"
	"postage/record"
)

// A ratio without an interval agrees with anything: it is not checked.
func TestAccuracyChecksIntervals(t *testing.T) {
	for blocks, want := range map[int]bool{3: false, 10: true} {
		r := recordtest.Run{Rand: rand.New(rand.NewPCG(7, 3)), Cases: 1, Blocks: blocks}
		rec := r.Record()
		for i := range rec.Rows {
			rec.Rows[i].Value = record.ValueCost
		}
		if checks := costed(rec); len(checks) > 0 != want {
			t.Errorf("%d blocks: %d rows are checked", blocks, len(checks))
		}
	}
}
