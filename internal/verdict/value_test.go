package verdict_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"postage/internal/recordtest"
	"postage/internal/verdict"
	"postage/record"
)

// alone turns a record into one of contenders alone in their process, with CPU time equal to wall
// time; change may then alter a batch of a row.
func alone(rec *record.Record, change func(row string, batch int, wall, cpu *int64)) *record.Record {
	for i := range rec.Rows {
		rec.Rows[i].Value = record.ValueCost
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
	c := verdict.AnalyzeCase(rec, "Encode/msg=0/op=encode")
	hides, pays := c.Of("codec=c"), c.Of("codec=d")
	if hides.Ratio.High > 0.97 || hides.Verdict == verdict.Faster {
		t.Errorf("the one that hides its cost: %+v, %s", hides.Ratio, hides.Verdict)
	}
	if pays.Verdict != verdict.Faster {
		t.Errorf("the other: %+v, %s", pays.Ratio, pays.Verdict)
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
	c := verdict.AnalyzeCase(rec, "Encode/msg=0/op=encode")
	if hides := c.Of("codec=c"); hides.Ratio.High > 2.03 {
		t.Errorf("the fast pieces hide nothing: %+v", hides.Ratio)
	}
	for _, r := range verdict.ComparePaired(rec, verdict.DefaultThresholds()).Rows {
		if want := r.New.Row.Name == case0+"codec=c"; (r.Time == verdict.Regressed) != want {
			t.Errorf("%s: %s", r.New.Row.Name, r.Time)
		}
	}
}

// What is printed agrees: costs in order, each the baseline's times the ratio, and the multiple of
// the floor the quotient of the two.
func TestColumnsAgree(t *testing.T) {
	s := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 1, Blocks: 8}
	rec := alone(s.Record(), func(string, int, *int64, *int64) {})
	rec.Run.World = &record.World{LiveHeap: 16 << 20, GOGC: 100, Procs: 1}
	for i := range rec.Blocks {
		for j := range rec.Blocks[i].Series {
			series := &rec.Blocks[i].Series[j]
			series.FastNS, series.CollectionBytes = series.WallNS[0], 30_000
			for k := range series.CPUNS {
				if series.Bytes[k] = int64(1000 * j); k%(2+j) == 0 {
					series.Collections[k] = 1
					series.CPUNS[k] += 10_000
				}
			}
		}
	}
	c := verdict.AnalyzeCase(rec, rec.Rows[0].Case)
	floor := c.Of("floor=memcpy").NSOp.Value
	for i, r := range c.Rows {
		if i > 0 && r.NSOp.Value < c.Rows[i-1].NSOp.Value {
			t.Errorf("%s is below one that costs less", r.Row.Contender)
		}
		if r.Ratio != nil && math.Abs(r.Ratio.Value*c.Baseline.NSOp.Value/r.NSOp.Value-1) > 1e-9 {
			t.Errorf("%s: %.4g of %.4g is not %.4g", r.Row.Contender, r.Ratio.Value, c.Baseline.NSOp.Value, r.NSOp.Value)
		}
		if math.Abs(r.FloorRatio.Value*floor/r.NSOp.Value-1) > 1e-9 {
			t.Errorf("%s: %.4g times the floor", r.Row.Contender, r.FloorRatio.Value)
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
		c := verdict.AnalyzeCase(rec, name)
		if v := c.Control.Verdict; v == verdict.Faster || v == verdict.Slower {
			t.Errorf("%s: the control is %s: %+v", name, v, c.Control.Ratio)
		}
		if r := c.Of("codec=c"); r.Verdict != verdict.Slower {
			t.Errorf("%s: 5%% more is %s: %+v", name, r.Verdict, r.Ratio)
		}
	}
}

// A gate finds what fast pieces cannot: work in other goroutines, costs that some batches have, and
// dearer collections of as many bytes.
func TestGateIsNotBlind(t *testing.T) {
	const worse = "Encode/msg=0/op=encode/codec=c"
	for _, blind := range []struct {
		name string
		cpu  func(batch int, collected bool) float64 // of a batch, as a multiple
	}{
		{"half as much again in the background", func(int, bool) float64 { return 1.5 }},
		{"30% more in two of five batches", func(batch int, _ bool) float64 {
			if batch%5 < 2 {
				return 1.3
			}
			return 1
		}},
		{"dearer collections", func(_ int, collected bool) float64 {
			if collected {
				return 1.25
			}
			return 1
		}},
	} {
		s := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 11)), Cases: 1, Blocks: 16}
		rec := s.Record()
		recordtest.Against(rec, 1)
		for _, b := range rec.Blocks {
			for j := range b.Series {
				b.Series[j].FastNS = slices.Min(b.Series[j].WallNS)
			}
		}
		alone(rec, func(row string, batch int, wall, cpu *int64) {
			*wall = *cpu // the scheduler hides it
			if row == worse {
				*cpu = int64(float64(*cpu) * blind.cpu(batch, batch%3 == 0))
			}
		})
		for i := range rec.Blocks {
			for j := range rec.Blocks[i].Series {
				series := &rec.Blocks[i].Series[j]
				series.CollectionBytes, series.FastEachNS = 3*series.Bytes[0], slices.Clone(series.WallNS)
				for k := range series.Collections {
					if (12*i+k+1)%3 == 0 {
						series.Collections[k] = 1
					}
				}
			}
		}
		for _, r := range verdict.ComparePaired(rec, verdict.DefaultThresholds()).Rows {
			if want := r.New.Row.Name == worse; (r.Time == verdict.Regressed) != want {
				t.Errorf("%s: %s is %s at %+v", blind.name, r.New.Row.Name, r.Time, r.Ratio)
			}
		}
		// Where the old side was measured by another instrument, that may be why.
		for i := range rec.Rows {
			if rec.Rows[i].OldOf == "" {
				rec.Rows[i].Instrument = 2
			}
		}
		c := verdict.ComparePaired(rec, verdict.DefaultThresholds())
		if !strings.Contains(strings.Join(c.Warnings, "; "), "instrument counts batches otherwise") {
			t.Errorf("%s: warnings %q", blind.name, c.Warnings)
		}
		if r := change(t, c, worse); strings.Contains(blind.name, "batches") && r.Time != verdict.Passed {
			t.Errorf("%s, by different instruments: %s at %+v", blind.name, r.Time, r.Ratio)
		}
	}
}
