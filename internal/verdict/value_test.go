package verdict_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"postage/internal/test/recordtest"
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

// A block's value is the sum of CPU time over the sum of operations, beside the baseline's.
func TestBlockValuesAreOfSums(t *testing.T) {
	rec := &record.Record{Rows: []record.Row{
		{Name: "C/a=1", Case: "C", Contender: "a=1", Role: record.RoleBaseline, Value: record.ValueCost, N: 10, Proof: record.ProofOK},
		{Name: "C/a=2", Case: "C", Contender: "a=2", Role: record.RoleContender, Value: record.ValueCost, N: 5, Proof: record.ProofOK},
	}, Blocks: []record.Block{{Case: "C", Number: 1, Series: []record.Series{
		{Row: "C/a=1", WallNS: []int64{1, 1}, CPUNS: []int64{100, 300}, Bytes: []int64{0, 0}, Allocs: []int64{0, 0}}, // 20 an operation
		{Row: "C/a=2", WallNS: []int64{1, 1}, CPUNS: []int64{50, 350}, Bytes: []int64{0, 0}, Allocs: []int64{0, 0}},  // 40
	}}}}
	c := verdict.AnalyzeCase(rec, "C")
	if ratio, ok := c.RatioOf(c.Of("a=2"), c.Baseline); !ok || !near(ratio.Value, 2) {
		t.Errorf("twice as dear: %v, want 2", ratio)
	}
}

// What is printed agrees: costs in order, each the baseline's times the ratio, and the multiple of
// the floor the quotient of the two.
func TestColumnsAgree(t *testing.T) {
	s := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 1, Blocks: 8}
	rec := alone(s.Record(), func(string, int, *int64, *int64) {})
	c := verdict.AnalyzeCase(rec, rec.Rows[0].Case)
	floor := c.Of("floor=memcpy").NSOp.Value
	for i, r := range c.Rows {
		if i > 0 && r.NSOp.Value < c.Rows[i-1].NSOp.Value {
			t.Errorf("%s is below one that costs less", r.Row.Contender)
		}
		if r.Ratio != nil && !near(r.Ratio.Value*c.Baseline.NSOp.Value/r.NSOp.Value, 1) {
			t.Errorf("%s: %.4g of %.4g is not %.4g", r.Row.Contender, r.Ratio.Value, c.Baseline.NSOp.Value, r.NSOp.Value)
		}
		if !near(*r.FloorRatio*floor/r.NSOp.Value, 1) {
			t.Errorf("%s: %.4g times the floor", r.Row.Contender, *r.FloorRatio)
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

// A gate finds work in other goroutines, costs that some batches have, and dearer collections of as
// many bytes: sums have all of them.
func TestGateIsNotBlind(t *testing.T) {
	const worse = "Encode/msg=0/op=encode/codec=c"
	for _, blind := range []struct {
		name string
		cpu  func(batch int) float64 // of a batch, as a multiple
	}{
		{"half as much again in the background", func(int) float64 { return 1.5 }},
		{"30% more in two of five batches", func(batch int) float64 {
			if batch%5 < 2 {
				return 1.3
			}
			return 1
		}},
		{"dearer collections, one in three batches", func(batch int) float64 {
			if batch%3 == 0 {
				return 1.25
			}
			return 1
		}},
	} {
		s := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 11)), Cases: 1, Blocks: 16}
		rec := s.Record()
		recordtest.Against(rec, 1)
		alone(rec, func(row string, batch int, wall, cpu *int64) {
			*wall = *cpu // the scheduler hides it
			if row == worse {
				*cpu = int64(float64(*cpu) * blind.cpu(batch))
			}
		})
		for _, r := range verdict.ComparePaired(rec, verdict.DefaultThresholds()).Rows {
			if want := r.New.Row.Name == worse; (r.Time == verdict.Regressed) != want {
				t.Errorf("%s: %s is %s at %+v", blind.name, r.New.Row.Name, r.Time, r.Ratio)
			}
		}
	}
}

// Rows of an instrument before, whose quantity is no longer known, are compared by wall time, and a
// warning says so.
func TestAnOlderInstrument(t *testing.T) {
	s := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 1, Blocks: 8}
	rec := s.Record()
	for i := range rec.Rows {
		rec.Rows[i].Value, rec.Rows[i].Instrument = "pieces", 2
	}
	a := verdict.Analyze(rec)
	if r := a.Cases[0].Of("codec=a"); len(a.Warnings) != 1 || !strings.HasPrefix(a.Warnings[0], "measured by instrument 2") || math.Abs(r.Ratio.Value/0.3-1) > 0.05 {
		t.Errorf("%q, %+v", a.Warnings, r.Ratio)
	}
}
