package stats

import (
	"math"
	"testing"
)

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
