package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Tables of Hollander and Wolfe: with 6 and 6 values, U <= 5 is rejected at 5%; with 10
// and 10, U <= 23.
func TestMannWhitneyCriticalValues(t *testing.T) {
	for _, r := range []struct{ m, n, want int }{{6, 6, 6}, {10, 10, 24}, {4, 4, 1}, {3, 3, 0}, {6, 14, 18}} {
		if got := rejected(mannWhitney(r.m, r.n), r.m*r.n, 0.05); got != r.want {
			t.Errorf("%d and %d values: %d values of U rejected, want %d", r.m, r.n, got, r.want)
		}
	}
	if c := mannWhitney(56, 56); math.Abs(c(56*56)-1) > 1e-9 || math.Abs(c(56*56/2)-0.5) > 0.01 {
		t.Errorf("56 and 56 values: ends at %v, middle %v", c(56*56), c(56*56/2))
	}
}

func TestShift(t *testing.T) {
	s := Unpaired([]float64{1, 2, 3, 4, 5, 6}, []float64{11, 12, 13, 14, 15, 16}, 0.05)
	if s.Value != 10 || math.Abs(s.P-2.0/924) > 1e-12 || s.Low != 7 || s.High != 13 || s.Seen != 3 {
		t.Errorf("%+v", s)
	}
	same := []float64{1, 2, 3, 4, 5, 6}
	if s := Unpaired(same, same, 0.05); s.Value != 0 || s.P != 1 {
		t.Errorf("a sample against itself: %+v", s)
	}
	if s := Unpaired(same[:2], same, 0.05); !math.IsInf(s.Low, -1) || !math.IsInf(s.Seen, 1) || math.IsNaN(s.Value) {
		t.Errorf("two values: %+v", s)
	}
	if s := Unpaired(nil, same, 0.05); !math.IsNaN(s.Value) || s.P != 1 {
		t.Errorf("no values: %+v", s)
	}
}

// Swapping the samples turns the shift round; moving one moves it; rejecting at 5% and
// an interval that leaves out 0 are the same.
func TestShiftProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-1, 1), 1, 12)
		x, y := values.Draw(t, "x"), values.Draw(t, "y")
		s, r := Unpaired(x, y, 0.05), Unpaired(y, x, 0.05)
		if math.Abs(s.Value+r.Value) > 1e-12 || math.Abs(s.P-r.P) > 1e-12 || s.Low != -r.High {
			t.Fatalf("%+v and swapped %+v", s, r)
		}
		if rejects, excludes := s.P <= 0.05, s.Low > 0 || s.High < 0; rejects != excludes {
			t.Fatalf("p %v but interval %v to %v", s.P, s.Low, s.High)
		}
		moved := slices.Clone(y)
		for i := range moved {
			moved[i] += 3
		}
		if m := Unpaired(x, moved, 0.05); math.Abs(m.Value-s.Value-3) > 1e-9 {
			t.Fatalf("moved by 3: %v to %v", s.Value, m.Value)
		}
	})
}

// The interval covers the true shift in at least 95% of samples, normal or not.
func TestShiftCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 9))
	for name, draw := range map[string]func() float64{
		"normal": rng.NormFloat64,
		"heavy":  func() float64 { return rng.NormFloat64() / math.Abs(rng.NormFloat64()) },
	} {
		const trials = 3000
		missed := 0
		for range trials {
			x, y := make([]float64, 6), make([]float64, 10)
			for i := range x {
				x[i] = draw()
			}
			for i := range y {
				y[i] = draw() + 0.5
			}
			if s := Unpaired(x, y, 0.05); s.Low > 0.5 || s.High < 0.5 {
				missed++
			}
		}
		if rate := float64(missed) / trials; rate > 0.05 && !within(missed, trials, 0.05) || missed == 0 {
			t.Errorf("%s: misses %.2f%%", name, 100*rate)
		}
	}
}

// within says whether k of n is believable for a probability p: within 4 standard
// errors of the binomial.
func within(k, n int, p float64) bool {
	return math.Abs(float64(k)-float64(n)*p) <= 4*math.Sqrt(float64(n)*p*(1-p))
}

func TestHolm(t *testing.T) {
	p := []float64{0.01, 0.04, 0.03, 0.005}
	want := []float64{0.03, 0.06, 0.06, 0.02} // 0.005*4, 0.01*3, 0.03*2, max(0.06, 0.04)
	for i, got := range Holm(p) {
		if math.Abs(got-want[i]) > 1e-12 {
			t.Errorf("p %v: adjusted %v, want %v", p[i], got, want[i])
		}
	}
	if got := Holm([]float64{0.9, 0.8}); got[0] != 1 || got[1] != 1 {
		t.Errorf("adjusted beyond 1: %v", got)
	}
	if got := Holm(nil); len(got) != 0 {
		t.Error(got)
	}
}
