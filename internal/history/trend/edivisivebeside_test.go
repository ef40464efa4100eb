package trend_test

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/aclements/go-moremath/stats"

	"postage/internal/history/trend"
)

// seriesDrawn is how many series of each kind TestChangePointsBesideOthers draws; the table in
// docs/history.md is of 300.
var seriesDrawn = flag.Int("series", 60, "series of each kind that ways to find changes are compared on")

// dividedByValue is where the energy distance of the values themselves is greatest, with
// the whole series before and after it: E-divisive without ranks and windows.
func dividedByValue(x []float64) (at int, q float64) {
	toAll, all := make([]float64, len(x)), 0.0
	for i, v := range x {
		for _, w := range x {
			toAll[i] += math.Abs(v - w)
		}
		all += toAll[i] / 2
	}
	before, after := 0.0, all
	q = math.Inf(-1)
	for i := range len(x) - trend.MinSegment {
		toBefore := 0.0
		for _, w := range x[:i] {
			toBefore += math.Abs(x[i] - w)
		}
		before += toBefore
		after -= toAll[i] - toBefore
		m, n := float64(i+1), float64(len(x)-i-1)
		if v := m * n / (m + n) * 2 * ((all-before-after)/(m*n) - before/(m*m) - after/(n*n)); i+1 >= trend.MinSegment && v > q {
			at, q = i+1, v
		}
	}
	return at, q
}

// byPermutations says whether the division is greater than those of 95 of 100 permutations.
func byPermutations(x []float64, q float64, rng *rand.Rand) bool {
	permuted, greater := slices.Clone(x), 0
	for range 99 {
		rng.Shuffle(len(permuted), func(i, j int) { permuted[i], permuted[j] = permuted[j], permuted[i] })
		if _, v := dividedByValue(permuted); v >= q {
			greater++
		}
	}
	return greater < 5
}

// How often a change is found by [ChangePoints], by permutations of the values of the
// whole series, and by a t-test of the two sides of the division found.
func TestChangePointsBesideOthers(t *testing.T) {
	normal := (*rand.Rand).NormFloat64
	farOut := func(rng *rand.Rand) float64 {
		v := rng.NormFloat64()
		if rng.IntN(20) == 0 {
			v += 15 * rng.Float64()
		}
		return v
	}
	rng := rand.New(rand.NewPCG(7, 1))
	for _, kind := range []struct {
		name  string
		parts [][2]float64
		draw  func(*rand.Rand) float64
		// What docs/history.md says of it: bounds of the shares found here, by
		// permutations, and by the t-test at 5%.
		here, permutations, t5 [2]float64
	}{
		{"no change, normal", [][2]float64{{100, 0}}, normal, [2]float64{0, 0.15}, [2]float64{0, 0.2}, [2]float64{0.2, 1}},
		{"no change, far out", [][2]float64{{100, 0}}, farOut, [2]float64{0, 0.15}, [2]float64{0, 0.2}, [2]float64{0.1, 1}},
		{"step, normal", [][2]float64{{50, 0}, {50, 1}}, normal, [2]float64{0.8, 1}, [2]float64{0.8, 1}, [2]float64{0.8, 1}},
		{"step, far out", [][2]float64{{50, 0}, {50, 1}}, farOut, [2]float64{0.75, 1}, [2]float64{0.6, 1}, [2]float64{0.5, 1}},
		{"the last six, normal", [][2]float64{{94, 0}, {6, 3}}, normal, [2]float64{0.9, 1}, [2]float64{0.9, 1}, [2]float64{0.9, 1}},
		{"the last six, far out", [][2]float64{{94, 0}, {6, 3}}, farOut, [2]float64{0.85, 1}, [2]float64{0.8, 1}, [2]float64{0.6, 1}},
		{"slower and mended, normal", [][2]float64{{95, 0}, {10, 4}, {95, 0}}, normal, [2]float64{0.7, 1}, [2]float64{0, 0.4}, [2]float64{0.7, 1}},
		{"slower and mended, far out", [][2]float64{{95, 0}, {10, 4}, {95, 0}}, farOut, [2]float64{0.1, 1}, [2]float64{0, 0.3}, [2]float64{0.4, 1}},
	} {
		here, permutations, t5, t01 := 0, 0, 0, 0
		for range *seriesDrawn {
			var x []float64
			for _, p := range kind.parts {
				for range int(p[0]) {
					x = append(x, p[1]+kind.draw(rng))
				}
			}
			if len(trend.ChangePoints(x, 0.05)) > 0 {
				here++
			}
			at, q := dividedByValue(x)
			if byPermutations(x, q, rng) {
				permutations++
			}
			test, err := stats.TwoSampleWelchTTest(stats.Sample{Xs: x[:at]}, stats.Sample{Xs: x[at:]}, stats.LocationDiffers)
			if err != nil {
				t.Fatal(err)
			}
			if test.P <= 0.05 {
				t5++
			}
			if test.P <= 0.001 {
				t01++
			}
		}
		share := func(n int) float64 { return float64(n) / float64(*seriesDrawn) }
		t.Logf("%-26s here %3.0f%%  permutations %3.0f%%  t-test at 5%% %3.0f%%, at 0.1%% %3.0f%%", kind.name, 100*share(here), 100*share(permutations), 100*share(t5), 100*share(t01))
		for name, found := range map[string][3]float64{"here": {share(here), kind.here[0], kind.here[1]}, "permutations": {share(permutations), kind.permutations[0], kind.permutations[1]}, "t-test": {share(t5), kind.t5[0], kind.t5[1]}} {
			if found[0] < found[1] || found[0] > found[2] {
				t.Errorf("%s: found %s in %.2f of the series, which is not within %.2f to %.2f", kind.name, name, found[0], found[1], found[2])
			}
		}
	}
}
