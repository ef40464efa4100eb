package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The expected values are R 4.2.2's: wilcox.test(x, conf.int=TRUE, exact=TRUE), whose
// estimate is the Hodges-Lehmann one. "depression" is the data of Hollander and Wolfe
// (1973), p. 29, that R's own help page uses; the others were drawn by R from the
// normal and the Cauchy distribution.
var references = []struct {
	name                string
	x                   []float64
	estimate, low, high float64
}{
	{
		name:     "depression",
		x:        []float64{0.952, -0.147, 1.022, 0.43, 0.62, 0.59, 0.49, -0.08, 0.01},
		estimate: 0.46, low: 0.010, high: 0.786,
	},
	{
		name:     "6 normal",
		x:        []float64{0.0762, 0.0178, 0.0192, 0.0672, 0.0611, 0.0497},
		estimate: 0.0477, low: 0.0178, high: 0.0762,
	},
	{
		name: "14 normal",
		x: []float64{-0.0113, 0.0292, -0.0218, 0.0998, 0.0365, -0.021, 0.0444, 0.0569,
			0.0488, 0.0047, 0.0956, 0.0395, -0.0111, -0.0907},
		estimate: 0.0206, low: -0.0111, high: 0.0482,
	},
	{
		name: "28 Cauchy",
		x: []float64{-0.0115, -0.0804, -0.0206, -0.2773, -0.514, -0.0189, 0.0237, 0.7178, -0.0359,
			-0.0522, 0.73, -0.0033, 0.2739, 0.0684, 0.0313, 0.0362, 0.0968, -0.8331, -0.0696, 0.1859,
			0.006, 0.086, 0.4067, 0.106, -0.0775, 0.0726, 0.7607, -0.0251},
		estimate: 0.0272, low: -0.02510, high: 0.12715,
	},
	{
		name: "56 Cauchy",
		x: []float64{-0.0064, -0.0407, 0.0703, -0.0476, 0.0757, 0.0669, 0.6518, -0.0376, -0.0427,
			0.1189, -0.0621, -0.0262, 0.2201, -0.0834, 0.1339, 0.0618, -0.0678, 0.017, -0.084, 1e-04,
			0.0286, 0.0042, 0.0268, -0.0106, -0.1243, -0.0405, -0.0617, -0.057, 0.3335, 0.1523,
			-0.0538, -0.1661, -0.1146, 0.0806, 0.0368, -0.0211, -0.1322, 0.0196, 0.0015, 0.7062,
			-0.0322, -0.1759, -0.0238, -0.0761, 0.0835, 0.2087, 0.0051, -0.0179, -0.0822, -0.0032,
			0.2735, -0.1262, -0.0213, 3.5917, 0.9961, 0.0103},
		estimate: 0.004575, low: -0.02245, high: 0.04335,
	},
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(1, math.Abs(b)) }

func TestAgainstR(t *testing.T) {
	for _, r := range references {
		before := slices.Clone(r.x)
		got := shift(walsh(r.x), signedRankDistribution(len(r.x)), 0.05)
		if !near(got.Value, r.estimate) || !near(got.Low, r.low) || !near(got.High, r.high) {
			t.Errorf("%s: %v (%v to %v); R says %v (%v to %v)", r.name, got.Value, got.Low, got.High, r.estimate, r.low, r.high)
		}
		if !slices.Equal(before, r.x) {
			t.Errorf("%s: the caller's values were reordered", r.name)
		}
	}
}

// R: psignrank(c(0, 5, 21, 52), 9) and psignrank(c(102, 400), 28).
func TestSignedRankDistribution(t *testing.T) {
	for _, r := range []struct {
		n, t int
		p    float64
	}{
		{9, 0, 0.001953125}, {9, 5, 0.019531250}, {9, 21, 0.455078125},
		{28, 102, 0.010204706341}, {28, 400, 0.999999962747},
	} {
		if p := signedRankDistribution(r.n)[min(r.t, r.n*(r.n+1)/2)]; math.Abs(p-r.p) > 1e-9 {
			t.Errorf("P(T <= %d), n = %d: %v, R says %v", r.t, r.n, p, r.p)
		}
	}
}

func TestTooFewBlocks(t *testing.T) {
	for n := range MinBlocks {
		c := Compare(make([]float64, n), 0)
		if !math.IsInf(c.HalfWidth, 1) || c.Low != 0 || !math.IsInf(c.High, 1) {
			t.Errorf("%d blocks: %+v claims an interval", n, c)
		}
		if got := Decide(c, 0.01); got != Undecided {
			t.Errorf("%d blocks: verdict %q", n, got)
		}
	}
	if c := Compare(make([]float64, MinBlocks), 0); math.IsInf(c.HalfWidth, 1) {
		t.Errorf("%d blocks: no interval", MinBlocks)
	}
}

// R: binom.test(k, n)$conf.int.
func TestClopperPearson(t *testing.T) {
	for _, r := range []struct {
		k, n      int
		low, high float64
	}{
		{0, 100, 0, 0.0362166926452},
		{1, 100, 0.000253146032977, 0.054459385392081},
		{5, 100, 0.0164318791821, 0.1128349111055},
		{80, 100, 0.708157310911, 0.873344447898},
		{100, 100, 0.963783307355, 1},
		{3, 7, 0.0989882784425, 0.8159484323599},
		{0, 0, 0, 1},
	} {
		low, high := ClopperPearson(r.k, r.n, 0.95)
		if math.Abs(low-r.low) > 1e-9 || math.Abs(high-r.high) > 1e-9 {
			t.Errorf("%d of %d: [%v, %v], R says [%v, %v]", r.k, r.n, low, high, r.low, r.high)
		}
	}
}

func TestDecide(t *testing.T) {
	for _, r := range []struct {
		low, high float64
		want      Verdict
	}{
		{0.5, 0.6, Faster}, {0.98, 0.985, Faster}, {0.985, 0.995, Same}, {0.97, 0.995, Undecided},
		{0.995, 1.005, Same}, {1.005, 1.015, Same}, {1.02, 1.04, Slower}, {1.005, 1.04, Undecided},
		{0.9, 1.1, Undecided}, {0, math.Inf(1), Undecided}, {math.NaN(), math.NaN(), Undecided},
	} {
		if got := Decide(Comparison{Low: r.low, High: r.high}, 0.01); got != r.want {
			t.Errorf("[%v, %v]: %s, want %s", r.low, r.high, got, r.want)
		}
	}
}

func blocks(t *rapid.T) []float64 {
	return rapid.SliceOfN(rapid.Float64Range(-3, 3), MinBlocks, 40).Draw(t, "blocks")
}

func TestCompareProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := blocks(t)
		c := Compare(x, 0)
		if !(c.Low <= c.Ratio && c.Ratio <= c.High) {
			t.Fatalf("estimate outside its interval: %+v", c)
		}
		if wider := Compare(x, 0.01); wider.Within != c.Within || wider.HalfWidth < max(c.HalfWidth, 0.0195) {
			t.Fatalf("with 1%% between runs %+v, without %+v", wider, c)
		}

		// The order of blocks says nothing.
		shuffled := slices.Clone(x)
		rand.Shuffle(len(x), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if Compare(shuffled, 0) != c {
			t.Fatalf("depends on the order: %+v and %+v", c, Compare(shuffled, 0))
		}

		// A factor on all blocks is a factor on the ratio.
		shift := rapid.Float64Range(-1, 1).Draw(t, "shift")
		shifted := make([]float64, len(x))
		for i := range x {
			shifted[i] = x[i] + shift
		}
		if s := Compare(shifted, 0); !near(s.Ratio, c.Ratio*math.Exp(shift)) || !near(s.Low, c.Low*math.Exp(shift)) {
			t.Fatalf("shifted by %v: %+v and %+v", shift, c, s)
		}

		// Exchanging the two contenders inverts ratio and interval.
		swapped := make([]float64, len(x))
		for i := range x {
			swapped[i] = -x[i]
		}
		if s := Compare(swapped, 0); !near(s.Ratio, 1/c.Ratio) || !near(s.Low, 1/c.High) || !near(s.High, 1/c.Low) {
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
		values := make([]float64, MinBlocks)
		for i := range values {
			values[i] = 0.04 * random.NormFloat64()
		}
		if v := Decide(Compare(values, 0), 0.005); v == Faster || v == Slower {
			different++
		}
	}
	if share := float64(different) / comparisons; share > 0.0145 {
		t.Errorf("%.1f%% of equal things are called different", 100*share)
	}
}

// Needed is the slowdown from which on the verdict is slower, with blocks that spread as they do.
func TestNeeded(t *testing.T) {
	for _, values := range [][]float64{
		{0.001, -0.002, 0.003, -0.001, 0.002, -0.003, 0.0005},
		{0.04, -0.03, 0.05, -0.02, 0.01, -0.06},
	} {
		needed := math.Log1p(Compare(values, 0).Needed(0.005))
		for _, by := range []struct {
			more float64
			want bool
		}{{-1e-6, false}, {1e-6, true}} {
			slowed := slices.Clone(values)
			for i := range slowed {
				slowed[i] += needed + by.more
			}
			if got := Decide(Compare(slowed, 0), 0.005); (got == Slower) != by.want {
				t.Errorf("%v by %v: %s", values, needed+by.more, got)
			}
		}
	}
}
