package history

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The place found is where the standardised rank sum is greatest, by the definition of the Wilcoxon
// test, and its p-value is at most about the share of random orders that differ as much.
func TestSplit(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	for _, n := range []int{10, 14, 20, 40, 100, 300} {
		const orders = 4000
		beyond := map[float64]int{0.05: 0, 0.01: 0}
		x := make([]float64, n)
		for order := range orders {
			for i, v := range rng.Perm(n) {
				x[i] = float64(v)
			}
			at, logP := split(x)
			if n <= 40 && order < 100 {
				if want := splitByDefinition(x); at != want {
					t.Fatalf("%d values: split after %d, by definition %d", n, at, want)
				}
			}
			for level := range beyond {
				if logP <= math.Log(level) {
					beyond[level]++
				}
			}
		}
		for level, count := range beyond {
			// Four standard deviations; the test may be conservative, down to a quarter.
			sd := math.Sqrt(level * (1 - level) / orders)
			if rate := float64(count) / orders; rate > level+4*sd || rate < level/4 {
				t.Errorf("%d values: significant at %g in %.4f of all orders", n, level, rate)
			}
		}
	}
}

func splitByDefinition(x []float64) (at int) {
	most := 0.0
	n := float64(len(x))
	for i := minSegment; i <= len(x)-minSegment; i++ {
		wins := 0.0 // Mann and Whitney's U
		for _, before := range x[:i] {
			for _, after := range x[i:] {
				if before > after {
					wins++
				}
			}
		}
		m := float64(i)
		if z := math.Abs(wins-m*(n-m)/2) / math.Sqrt(m*(n-m)*(n+1)/12); z > most+1e-9 {
			at, most = i, z
		}
	}
	return at
}

// series are values of a spread of 1 around the levels, so many of each.
func series(rng *rand.Rand, parts ...[2]float64) []float64 {
	var x []float64
	for _, p := range parts {
		for range int(p[0]) {
			x = append(x, p[1]+rng.NormFloat64())
		}
	}
	return x
}

// In series without change, one in 20 has a false one at most, whatever the values'
// distribution and the length of the series.
func TestChangePointsFalseAlarms(t *testing.T) {
	distributions := map[string]func(*rand.Rand) float64{
		"normal":     (*rand.Rand).NormFloat64,
		"heavy tail": func(r *rand.Rand) float64 { return math.Tan(math.Pi * (r.Float64() - 0.5)) },
		"two modes":  func(r *rand.Rand) float64 { return float64(r.IntN(2))*10 + r.NormFloat64() },
		"few values": func(r *rand.Rand) float64 { return float64(r.IntN(3)) },
		"constant":   func(*rand.Rand) float64 { return 1 },
	}
	for name, draw := range distributions {
		rng := rand.New(rand.NewPCG(7, 1))
		for _, n := range []int{9, 10, 20, 50, 150, 500} {
			const runs = 400
			alarms := 0
			for range runs {
				x := make([]float64, n)
				for i := range x {
					x[i] = draw(rng)
				}
				if len(changePoints(x, 0.05)) > 0 {
					alarms++
				}
			}
			// 400·5% = 20; four standard deviations more.
			if alarms > 38 || (name == "constant" || n < 2*minSegment) && alarms > 0 {
				t.Errorf("%s, %d values: %d false alarms in %d series", name, n, alarms, runs)
			}
		}
	}
}

func TestChangePointsFindsPlantedSteps(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	for _, test := range []struct {
		name  string
		parts [][2]float64
		want  []int
	}{
		{"the fewest values", [][2]float64{{5, 0}, {5, 9}}, []int{5}},
		{"the last five runs", [][2]float64{{200, 0}, {5, 9}}, []int{200}},
		{"one step", [][2]float64{{30, 0}, {30, 3}}, []int{30}},
		{"stairs", [][2]float64{{40, 0}, {40, 4}, {40, 8}, {40, 0}}, []int{40, 80, 120}},
		{"a small step in many", [][2]float64{{400, 0}, {400, 1}}, []int{400}},
	} {
		found := 0
		const runs = 60
		for range runs {
			points := changePoints(series(rng, test.parts...), 0.05)
			// A value of the one side may look like one of the other, and some series have a false
			// change beside the true ones.
			right := len(points) == len(test.want)
			for i := 0; right && i < len(points); i++ {
				right = math.Abs(float64(points[i].Point-test.want[i])) <= 10 && points[i].P <= 0.05
			}
			if right {
				found++
			}
		}
		t.Logf("%s: right in %d of %d", test.name, found, runs)
		if found < runs*3/4 {
			t.Errorf("%s: right in %d of %d", test.name, found, runs)
		}
	}
}

// What holds of any series.
func TestChangePointsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		var parts [][2]float64
		for range rapid.IntRange(1, 5).Draw(t, "parts") {
			parts = append(parts, [2]float64{float64(rapid.IntRange(1, 60).Draw(t, "length")), float64(rapid.IntRange(-3, 3).Draw(t, "level")) * 3})
		}
		x := series(rng, parts...)
		given := slices.Clone(x)
		points := changePoints(x, 0.05)
		if !slices.Equal(x, given) {
			t.Fatal("the series was changed")
		}
		last := 0
		for _, p := range points {
			if p.Point-last < minSegment || p.P <= 0 || p.P > 0.05 {
				t.Fatalf("%+v after %d", p, last)
			}
			last = p.Point
		}
		if len(points) > 0 && len(x)-last < minSegment {
			t.Fatalf("%d of %d", last, len(x))
		}
		// A change of unit moves no change.
		scaled := make([]float64, len(x))
		for i, v := range x {
			scaled[i] = 8*v + 1024 // which rounds as v does
		}
		if mapped := changePoints(scaled, 0.05); !slices.EqualFunc(mapped, points, func(a, b Change) bool { return a.Point == b.Point }) {
			t.Fatalf("%v, in another unit %v", points, mapped)
		}
	})
}

// In series without change whose values are like those before them, one in 20 has a false change;
// and a step of 5% is found all the same. Without whitening, at 0.4, 44% of 100 values have a false
// one.
func TestChangePointsCorrelated(t *testing.T) {
	for _, test := range []struct{ rho, one, two float64 }{ // the least shares of steps found in 100 values that spread by 1% and by 2%
		{0, 0.98, 0.97}, {0.2, 0.98, 0.93}, {0.4, 0.98, 0.86}, {0.6, 0.97, 0.7},
	} {
		for _, n := range []int{20, 50, 100} {
			rng := rand.New(rand.NewPCG(7, 1))
			const runs = 300
			alarms, one, two := 0, 0, 0
			for range runs {
				if len(changePoints(correlated(rng, n, test.rho), 0.05)) > 0 {
					alarms++
				}
				if stepFound(correlated(rng, n, test.rho), 0.01) {
					one++
				}
				if stepFound(correlated(rng, n, test.rho), 0.02) {
					two++
				}
			}
			share := func(n int) float64 { return float64(n) / runs }
			t.Logf("rho %g, %3d values: false changes in %4.1f%%; a step of 5%% found in %5.1f%% where they spread by 1%%, in %5.1f%% by 2%%", test.rho, n, 100*share(alarms), 100*share(one), 100*share(two))
			most := 0.05 + 4*0.0126 // four standard errors
			if share(alarms) > most || n == 100 && (share(one) < test.one || share(two) < test.two) {
				t.Errorf("rho %g, %d values: false changes in %.3f, the step found in %.3f and %.3f", test.rho, n, share(alarms), share(one), share(two))
			}
		}
	}
}

// correlated are n values of a spread of 1. Each has the share rho of the one before it,
// AR(1): a machine that is slow today is still so tomorrow.
func correlated(rng *rand.Rand, n int, rho float64) []float64 {
	x := make([]float64, n)
	x[0] = rng.NormFloat64()
	for i := 1; i < n; i++ {
		x[i] = rho*x[i-1] + math.Sqrt(1-rho*rho)*rng.NormFloat64()
	}
	return x
}

// stepFound says whether a step of 5% in the middle is found where the values are made to spread by
// so much.
func stepFound(x []float64, spread float64) (found bool) {
	middle := len(x) / 2
	for i := range x {
		x[i] = 1 + spread*x[i]
		if i >= middle {
			x[i] *= 1.05
		}
	}
	for _, p := range changePoints(x, 0.05) {
		found = found || p.Point > middle-5 && p.Point < middle+5 && p.After > p.Before
	}
	return found
}
