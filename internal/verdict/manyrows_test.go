package verdict_test

import (
	"math/rand/v2"
	"testing"

	"postage/internal/test/recordtest"
	"postage/internal/verdict"
)

// Of 100 rows one is 5% slower, and 8 function layouts move each side of each row by 1%. The gate
// finds it in at least 95% of runs, and lets none of them pass; of rows that did not change, one
// regresses in at most 1% of runs or so.
func TestGateOfManyRows(t *testing.T) {
	const runs, slowed = 60, "Encode/msg=7/op=encode/codec=b"
	found, passed, others := 0, 0, 0
	for i := range runs {
		rng := rand.New(rand.NewPCG(11, uint64(i)))
		rec := (&recordtest.Run{Rand: rng, Cases: 20, Blocks: 16}).Record()
		recordtest.Against(rec, 1)
		recordtest.Laid(rec, rng, 8, 0.01)
		for j := range rec.Blocks {
			if s := rec.Blocks[j].Of(slowed); s != nil {
				for k := range s.WallNS {
					s.WallNS[k] = s.WallNS[k] * 105 / 100
				}
			}
		}
		c := verdict.ComparePaired(rec, verdict.DefaultThresholds())
		if len(c.Rows) != 100 {
			t.Fatalf("%d rows", len(c.Rows))
		}
		other := false
		for _, row := range c.Rows {
			switch {
			case row.Time != verdict.Regressed:
			case row.New.Row.Name == slowed:
				found++
			default:
				other = true
			}
		}
		if c.Outcome() == verdict.Passed {
			passed++
		}
		if other {
			others++
		}
	}
	t.Logf("of %d runs the slower row regressed in %d, another in %d; %d passed", runs, found, others, passed)
	if found < runs*95/100 || passed > 0 || others > 2 {
		t.Errorf("of %d runs the slower row regressed in %d, another in %d; %d passed", runs, found, others, passed)
	}
}
