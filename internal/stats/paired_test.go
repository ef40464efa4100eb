package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The p-value is under the level exactly as often as it says, and exactly when the
// interval of that level leaves 0 out.
func TestPairedLevel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const trials = 4000
	rejected := 0
	for range trials {
		x := make([]float64, 10)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		s := Paired(x, 0.05)
		if (s.P <= 0.05) != (s.Low > 0 || s.High < 0) {
			t.Fatalf("p = %v, interval %v to %v", s.P, s.Low, s.High)
		}
		if s.P <= 0.05 {
			rejected++
		}
	}
	// The exact level for n = 10 is 4.88%; 4000 trials are within 4 standard deviations.
	if share := float64(rejected) / trials; share < 0.035 || share > 0.063 {
		t.Errorf("rejected %.3f of no shift", share)
	}
}

func TestPairedTooFew(t *testing.T) {
	if s := Paired(nil, 0.05); s.P != 1 || !math.IsInf(s.Seen, 1) {
		t.Errorf("no values: %+v", s)
	}
	if s := Paired([]float64{1}, 0.05); s.P != 1 || !math.IsInf(s.High, 1) || !math.IsInf(s.Seen, 1) {
		t.Errorf("one value: %+v", s)
	}
}
