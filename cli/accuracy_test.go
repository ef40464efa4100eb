package cli

import (
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"postage/internal/recordtest"
	"postage/internal/verdict"
	"postage/lab"
	"postage/record"
)

// A ratio is within 5% of what a row costs alone only where that is known as well.
func TestAccurate(t *testing.T) {
	base := []float64{100, 101, 99, 100, 102, 98, 100, 100}
	steady := []float64{200, 202, 198, 200, 204, 196, 200, 200}
	loose := []float64{150, 260, 210, 140, 280, 190, 170, 230}
	for _, c := range []struct {
		name  string
		ratio verdict.Interval
		alone []float64
		want  accurate
	}{
		{"true", verdict.Interval{Value: 2.02, Low: 1.98, High: 2.06}, steady, accurate{1, 1, 1, 0}},
		{"near, and surer than it is", verdict.Interval{Value: 2.06, Low: 2.05, High: 2.07}, steady, accurate{1, 0, 1, 0}},
		{"wrong", verdict.Interval{Value: 2.2, Low: 2.1, High: 2.3}, steady, accurate{1, 0, 0, 1}},
		{"not known alone", verdict.Interval{Value: 2.02, Low: 1.98, High: 2.06}, loose, accurate{1, 1, 0, 0}},
	} {
		var got accurate
		row := &verdict.Result{Row: &record.Row{Name: c.name}, NSOp: &verdict.Interval{Value: 200}, Ratio: &verdict.Comparison{Interval: c.ratio}}
		if got.add(io.Discard, row, c.alone, base); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// Rows are compared as if nothing had slowed the processor for either, though one is slowed more
// where the witness is, and met other turns.
func TestAtFullSpeed(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 4))
	processes := func(ns, power float64) (all [][]lab.Turn) {
		for range 6 {
			var turns []lab.Turn
			for range 4 {
				slow := 1 + rng.Float64()
				turns = append(turns, lab.Turn{NS: ns * math.Pow(slow, power), Witness: 100 * slow, Least: 100 * slow})
			}
			turns[0] = lab.Turn{NS: ns, Witness: 100, Least: 100}
			all = append(all, turns)
		}
		return all
	}
	for _, power := range []float64{0.65, 0.85, 1} {
		row := processes(1000, power)
		for _, ns := range atFullSpeed(row, atBest(row)) {
			if math.Abs(ns-1000) > 20 {
				t.Errorf("slowed by the power of %v: %.0f ns, want 1000", power, ns)
			}
		}
	}
}

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
