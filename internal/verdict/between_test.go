package verdict_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"postage/internal/recordtest"
	"postage/internal/verdict"
	"postage/record"
)

// What differs between runs, beyond the blocks of one, is found; with it, intervals of two runs are
// rarely disjoint.
func TestRepeat(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 12))
	for _, sd := range []float64{0, 0.02} {
		var records []*record.Record
		for range 12 {
			s := &recordtest.Run{Rand: rng, Cases: 2, Blocks: 12, Slower: map[string]float64{}}
			for _, c := range []string{"a", "b", "c", "d"} {
				for _, name := range []string{"0", "1"} {
					s.Slower["Encode/msg="+name+"/op=encode/codec="+c] = math.Exp(sd * rng.NormFloat64())
				}
			}
			records = append(records, s.Record())
		}
		found := verdict.Repeat(records)
		if math.Abs(found.Between-sd) > 0.006 || found.Rows != 10 {
			t.Errorf("%v between runs is found as %.4f in %d rows", sd, found.Between, found.Rows)
		}
		for _, rec := range records {
			rec.Run.Between = found.Between
		}
		if again := verdict.Repeat(records); again.Disjoint*20 > again.Pairs || math.Abs(again.Between-found.Between) > 1e-9 {
			t.Errorf("with %.4f, %d of %d pairs are disjoint; before %d", found.Between, again.Disjoint, again.Pairs, found.Disjoint)
		}
	}
}
