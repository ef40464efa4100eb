package stats

import (
	"math"
	"slices"
	"testing"
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
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(1, math.Abs(b)) }

func TestAgainstR(t *testing.T) {
	for _, r := range references {
		before := slices.Clone(r.x)
		got := hodgesLehmann(r.x, 0.05)
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
		if p := signedRank(r.n)(min(r.t, r.n*(r.n+1)/2)); math.Abs(p-r.p) > 1e-9 {
			t.Errorf("P(T <= %d), n = %d: %v, R says %v", r.t, r.n, p, r.p)
		}
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
	if low, high := ClopperPearson(400_000_000, 1_000_000_000, 0.95); math.Abs(low-0.39997) > 1e-6 || math.Abs(high-0.40003) > 1e-6 {
		t.Errorf("of a milliard: [%v, %v]", low, high)
	}
}
