package verdict_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"postage/internal/stats"
	"postage/internal/verdict"
)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(1, math.Abs(b)) }

func TestTooFewBlocks(t *testing.T) {
	for n := range stats.MinBlocks {
		c := verdict.Compare(make([]float64, n))
		if !math.IsInf(c.HalfWidth(), 1) || c.Low != 0 || !math.IsInf(c.High, 1) {
			t.Errorf("%d blocks: %+v claims an interval", n, c)
		}
		if got := verdict.Decide(c, 0.01); got != verdict.Undecided {
			t.Errorf("%d blocks: verdict %q", n, got)
		}
	}
	if c := verdict.Compare(make([]float64, stats.MinBlocks)); math.IsInf(c.HalfWidth(), 1) {
		t.Errorf("%d blocks: no interval", stats.MinBlocks)
	}
}

func TestDecide(t *testing.T) {
	for _, r := range []struct {
		low, high float64
		want      verdict.Verdict
	}{
		{0.5, 0.6, verdict.Faster}, {0.98, 0.985, verdict.Faster}, {0.985, 0.995, verdict.Same}, {0.97, 0.995, verdict.Undecided},
		{0.995, 1.005, verdict.Same}, {1.005, 1.015, verdict.Same}, {1.02, 1.04, verdict.Slower}, {1.005, 1.04, verdict.Undecided},
		{0.9, 1.1, verdict.Undecided}, {0, math.Inf(1), verdict.Undecided}, {math.NaN(), math.NaN(), verdict.Undecided},
	} {
		if got := verdict.Decide(verdict.Interval{Low: r.low, High: r.high}, 0.01); got != r.want {
			t.Errorf("[%v, %v]: %s, want %s", r.low, r.high, got, r.want)
		}
	}
}

func blocks(t *rapid.T) []float64 {
	return rapid.SliceOfN(rapid.Float64Range(-3, 3), stats.MinBlocks, 40).Draw(t, "blocks")
}

func TestCompareProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := blocks(t)
		c := verdict.Compare(x)
		if !(c.Low <= c.Value && c.Value <= c.High) {
			t.Fatalf("estimate outside its interval: %+v", c)
		}
		// The order of blocks says nothing.
		shuffled := slices.Clone(x)
		rand.Shuffle(len(x), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if verdict.Compare(shuffled) != c {
			t.Fatalf("depends on the order: %+v and %+v", c, verdict.Compare(shuffled))
		}

		// A factor on all blocks is a factor on the ratio.
		shift := rapid.Float64Range(-1, 1).Draw(t, "shift")
		shifted := make([]float64, len(x))
		for i := range x {
			shifted[i] = x[i] + shift
		}
		if s := verdict.Compare(shifted); !near(s.Value, c.Value*math.Exp(shift)) || !near(s.Low, c.Low*math.Exp(shift)) {
			t.Fatalf("shifted by %v: %+v and %+v", shift, c, s)
		}

		// Exchanging the two contenders inverts ratio and interval.
		swapped := make([]float64, len(x))
		for i := range x {
			swapped[i] = -x[i]
		}
		if s := verdict.Compare(swapped); !near(s.Value, 1/c.Value) || !near(s.Low, 1/c.High) || !near(s.High, 1/c.Low) {
			t.Fatalf("exchanged: %+v and %+v", c, s)
		}
	})
}

// Equal things are rarely called different, however wide the interval is beside the margin: six
// blocks whose values spread by 4% made it 3%.
func TestWideIntervalsAreNotCalledDifferent(t *testing.T) {
	const comparisons = 4000
	random := rand.New(rand.NewPCG(3, 4))
	different := 0
	for range comparisons {
		values := make([]float64, stats.MinBlocks)
		for i := range values {
			values[i] = 0.04 * random.NormFloat64()
		}
		if v := verdict.DecideBlocks(values, 0.005); v == verdict.Faster || v == verdict.Slower {
			different++
		}
	}
	if share := float64(different) / comparisons; share > 0.0145 {
		t.Errorf("%.1f%% of equal things are called different", 100*share)
	}
}
