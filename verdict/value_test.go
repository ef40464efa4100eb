package verdict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"postage/record"
	"postage/record/recordtest"
	"postage/stats"
)

// alone turns a record into one of contenders alone in their process, with CPU time equal to wall
// time; change may then alter a batch of a row.
func alone(rec *record.Record, change func(row string, batch int, wall, cpu *int64)) *record.Record {
	for i := range rec.Rows {
		rec.Rows[i].Value = record.ValueFastCPU
	}
	batches := map[string]int{}
	for i := range rec.Blocks {
		for j := range rec.Blocks[i].Series {
			s := &rec.Blocks[i].Series[j]
			s.CPUNS = slices.Clone(s.WallNS)
			s.Collections = make([]int64, len(s.WallNS))
			for k := range s.WallNS {
				batches[s.Row]++
				change(s.Row, batches[s.Row], &s.WallNS[k], &s.CPUNS[k])
			}
		}
	}
	return rec
}

// "Faster" is refused for a contender that is so in most batches and pays in every
// eighth; it stays for one that pays nothing.
func TestFasterIsRefusedWhereTheMeanSaysOtherwise(t *testing.T) {
	const case0 = "Encode/msg=0/op=encode/"
	s := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 1, Blocks: 20,
		Slower: map[string]float64{case0 + "codec=c": 0.475, case0 + "codec=d": 0.95 / 9}}
	rec := alone(s.Record(), func(row string, batch int, wall, cpu *int64) {
		if strings.HasSuffix(row, "codec=c") && batch%8 == 0 {
			*wall, *cpu = *wall+60_000, *cpu+60_000 // of 100,000
		}
	})
	c := AnalyzeCase(rec, "Encode/msg=0/op=encode")
	hides, pays := c.Of("codec=c"), c.Of("codec=d")
	if hides.Ratio.High > 0.97 || hides.Verdict == stats.Faster || *hides.Tail < 1.06 {
		t.Errorf("the one that hides its cost: %+v, %s, tail %.2f", hides.Ratio, hides.Verdict, *hides.Tail)
	}
	if pays.Verdict != stats.Faster || *pays.Tail > 1.06 {
		t.Errorf("the other: %+v, %s, tail %.2f", pays.Ratio, pays.Verdict, *pays.Tail)
	}
}

// The same for a cost that the fast pieces of a batch do not show, and it is a regression where it
// is new.
func TestPiecesHideNoCost(t *testing.T) {
	const case0 = "Encode/msg=0/op=encode/"
	s := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 1, Blocks: 20}
	rec := s.Record()
	recordtest.Against(rec, 1)
	for _, b := range rec.Blocks {
		for j := range b.Series {
			fast := slices.Clone(b.Series[j].WallNS)
			slices.Sort(fast)
			b.Series[j].FastNS = fast[1]
		}
	}
	alone(rec, func(row string, _ int, wall, cpu *int64) {
		if row == case0+"codec=c" { // 2000 ns, and the baseline 1000
			*wall, *cpu = *wall*108/100, *cpu*108/100
		}
	})
	for i := range rec.Rows {
		rec.Rows[i].Value = record.ValuePieces
	}
	c := AnalyzeCase(rec, "Encode/msg=0/op=encode")
	if hides := c.Of("codec=c"); hides.Ratio.High > 2.03 || *hides.Tail < 1.06 {
		t.Errorf("the fast pieces hide nothing: %+v, tail %.2f", hides.Ratio, *hides.Tail)
	}
	if other := c.Of("codec=d"); *other.Tail > 1.06 {
		t.Errorf("the other: tail %.2f", *other.Tail)
	}
	for _, r := range ComparePaired(rec, DefaultThresholds()).Rows {
		if want := r.New.Row.Name == case0+"codec=c"; (r.Time == Regressed) != want {
			t.Errorf("%s: %s", r.New.Row.Name, r.Time)
		}
	}
}

// What collecting costs is the same for all rows of a case, so that their ratios agree: a to c is a
// to b times b to c.
func TestRatiosOfPiecesAgree(t *testing.T) {
	const case0 = "Encode/msg=0/op=encode/codec="
	s := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 1, Blocks: 8}
	rec := alone(s.Record(), func(string, int, *int64, *int64) {})
	for i := range rec.Rows {
		rec.Rows[i].Value = record.ValuePieces
	}
	for i := range rec.Blocks {
		for j := range rec.Blocks[i].Series {
			series := &rec.Blocks[i].Series[j]
			series.FastNS, series.CollectionBytes = series.WallNS[0], 30_000
			every := 2 + j // batches to a collection, which differ in cost
			for k := range series.CPUNS {
				if k%every == 0 {
					series.Collections[k] = 1
					series.CPUNS[k] += int64(10_000 * (j + 1))
				}
			}
		}
	}
	blocks := rec.BlocksOf(rec.Rows[0].Case)
	a, b, c := rec.Row(case0+"a"), rec.Row(case0+"b"), rec.Row(case0+"c")
	ab, bc, ac := BlockValues(blocks, a, b), BlockValues(blocks, b, c), BlockValues(blocks, a, c)
	for i := range ac {
		if math.Abs(ab[i]+bc[i]-ac[i]) > 1e-9 {
			t.Errorf("block %d: a to c is %.4f, by way of b %.4f", i+1, ac[i], ab[i]+bc[i])
		}
	}
}

// A neighbour that takes the processor away is in the wall time and in no verdict: equal
// contenders are not told apart, and 5% is found.
func TestNeighbourTakesTheProcessor(t *testing.T) {
	s := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 2)), Cases: 10, Blocks: 14, Slower: map[string]float64{}}
	for i := range s.Cases {
		s.Slower[fmt.Sprintf("Encode/msg=%d/op=encode/codec=c", i)] = 0.525 // 5% more than the baseline
	}
	stopped := rand.New(rand.NewPCG(7, 3))
	rec := alone(s.Record(), func(_ string, _ int, wall, _ *int64) {
		if stopped.IntN(10) > 0 {
			*wall += int64(float64(*wall) * stopped.ExpFloat64())
		}
	})
	for _, name := range rec.Cases() {
		c := AnalyzeCase(rec, name)
		if v := c.Control.Verdict; v == stats.Faster || v == stats.Slower {
			t.Errorf("%s: the control is %s: %+v", name, v, c.Control.Ratio)
		}
		if r := c.Of("codec=c"); r.Verdict != stats.Slower {
			t.Errorf("%s: 5%% more is %s: %+v", name, r.Verdict, r.Ratio)
		}
		if r := c.Of("codec=c"); r.Wall.HalfWidth < 2*r.Ratio.HalfWidth {
			t.Errorf("%s: wall time ±%.3f, CPU time ±%.3f: there is too little noise to show anything", name, r.Wall.HalfWidth, r.Ratio.HalfWidth)
		}
	}
}

// What collections cost is put back at the rate that follows from what is allocated, not from
// how many fell into the blocks.
func TestCollectionRate(t *testing.T) {
	s := &record.Series{Collections: []int64{0, 0, 1, 0}, Bytes: []int64{1000, 1000, 1000, 1000}, CollectionBytes: 3300}
	if rate := collectionRate([]*record.Series{s, s}); math.Abs(rate-1/3.3) > 1e-9 {
		t.Errorf("%v", rate)
	}
	s.CollectionBytes = 0
	if rate := collectionRate([]*record.Series{s}); rate != 0.25 {
		t.Errorf("without what is allocated in between: %v", rate)
	}
}
