package trend

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// energyByDefinition is the greatest energy distance, by its definition: over all pairs
// of ranks, at every division.
func energyByDefinition(x []float64) (at int, q float64) {
	ranks := make([]float64, len(x))
	for i, v := range x {
		below, same := 0, 0
		for _, w := range x {
			if w < v {
				below++
			} else if w == v {
				same++
			}
		}
		ranks[i] = (float64(below) + float64(same-1)/2) / float64(len(x))
	}
	mean := func(a, b []float64) float64 {
		sum := 0.0
		for _, v := range a {
			for _, w := range b {
				sum += math.Abs(v - w)
			}
		}
		return sum / float64(len(a)*len(b))
	}
	q = math.Inf(-1)
	for t := MinSegment; t <= len(x)-MinSegment; t++ {
		a, b := ranks[:t], ranks[t:]
		m, n := float64(len(a)), float64(len(b))
		if v := m * n / (m + n) * (2*mean(a, b) - mean(a, a) - mean(b, b)); v > q+1e-9 {
			at, q = t, v
		}
	}
	return at, q
}

func TestEnergyScanIsTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Float64Range(-1e3, 1e3)
		if rapid.Bool().Draw(t, "ties") {
			value = rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.IntRange(0, 4).Draw(t, "v")) })
		}
		x := rapid.SliceOfN(value, 2*MinSegment, 60).Draw(t, "x")
		var s energyScan
		s.best(make([]uint32, 70)) // what is left from another use
		_, q := s.best(denseRanks(x))
		_, want := energyByDefinition(x)
		if math.Abs(q-want) > 1e-9 {
			t.Fatalf("%v, by definition %v", q, want)
		}
	})
}

// The table of what chance does is that of orders drawn anew.
func TestChance(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	var s energyScan
	for _, values := range []int{10, 14, 20, 40, 64, 100, 300, 700} {
		const orders = 4000
		beyond := map[float64]int{0.05: 0, 0.01: 0}
		x := make([]uint32, values)
		for range orders {
			for i, v := range rng.Perm(values) {
				x[i] = uint32(v)
			}
			at, q := s.best(x)
			for level := range beyond {
				if significance(q, values, at) <= math.Log(level) {
					beyond[level]++
				}
			}
		}
		for level, count := range beyond {
			// Six standard deviations; the test may be conservative, down to a quarter at
			// sizes where few orders are clear enough.
			sd := math.Sqrt(level * (1 - level) / orders)
			if rate := float64(count) / orders; rate > 1.1*level+6*sd || rate < level/4 {
				t.Errorf("%d values: significant at %g in %.4f of all orders", values, level, rate)
			}
		}
	}
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
				if len(ChangePoints(x, 0.05)) > 0 {
					alarms++
				}
			}
			// 400·5% = 20; four standard deviations more.
			if alarms > 38 || (name == "constant" || n < 2*MinSegment) && alarms > 0 {
				t.Errorf("%s, %d values: %d false alarms in %d series", name, n, alarms, runs)
			}
			t.Logf("%s, %d values: %d false alarms in %d series", name, n, alarms, runs)
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
		{"slower and mended", [][2]float64{{150, 0}, {20, 5}, {150, 0}}, []int{150, 170}},
		{"stairs", [][2]float64{{40, 0}, {40, 4}, {40, 8}, {40, 0}}, []int{40, 80, 120}},
		{"a small step in many", [][2]float64{{400, 0}, {400, 1}}, []int{400}},
		{"a short one among thousands", [][2]float64{{3000, 0}, {40, 6}, {3000, 0}}, []int{3000, 3040}},
	} {
		found := 0
		const runs = 20
		for range runs {
			points := ChangePoints(series(rng, test.parts...), 0.05)
			// A value of the one side may look like one of the other, and one series in 20 has
			// a false change beside the true ones.
			right := len(points) == len(test.want)
			for i := 0; right && i < len(points); i++ {
				right = math.Abs(float64(points[i].Point-test.want[i])) <= 10 && points[i].P <= 0.05
			}
			if right {
				found++
			}
		}
		t.Logf("%s: right in %d of %d", test.name, found, runs)
		if found < runs-5 {
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
		points := ChangePoints(x, 0.05)
		if !slices.Equal(x, given) {
			t.Fatal("the series was changed")
		}
		last := 0
		for _, p := range points {
			if p.Point-last < MinSegment || p.P <= 0 || p.P > 0.05 {
				t.Fatalf("%+v after %d", p, last)
			}
			last = p.Point
		}
		if len(points) > 0 && len(x)-last < MinSegment {
			t.Fatalf("%d of %d", last, len(x))
		}
		// A change of unit moves no change.
		scaled := make([]float64, len(x))
		for i, v := range x {
			scaled[i] = 8*v + 1024 // which rounds as v does
		}
		if mapped := ChangePoints(scaled, 0.05); !slices.EqualFunc(mapped, points, func(a, b Change) bool { return a.Point == b.Point }) {
			t.Fatalf("%v, in another unit %v", points, mapped)
		}
	})
}

func BenchmarkChangePoints(b *testing.B) {
	for _, steps := range []int{0, 10} {
		b.Run(fmt.Sprintf("values=10000/steps=%d", steps), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(7, 1))
			var parts [][2]float64
			for i := range steps + 1 {
				parts = append(parts, [2]float64{float64(10000 / (steps + 1)), float64(3 * (i % 3))})
			}
			x := series(rng, parts...)
			for b.Loop() {
				ChangePoints(x, 0.05)
			}
		})
	}
}
