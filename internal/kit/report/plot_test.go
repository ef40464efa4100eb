package report

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

func TestTicksAreFewAndWithin(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	for range 2000 {
		low := math.Exp(20*rng.Float64() - 10)
		x := NewLog([]float64{low, low * math.Exp(12*rng.Float64())}, 100, 500)
		ticks := x.Ticks(TickText)
		if len(ticks) > 14 {
			t.Errorf("%d ticks from %v to %v", len(ticks), x.Low, x.High)
		}
		for i, tick := range ticks {
			if tick.At < 100 || tick.At > 500 || i > 0 && tick.At < ticks[i-1].At {
				t.Errorf("ticks %v", ticks)
			}
		}
	}
}

func TestNiceTicksAreFewAndWithin(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	for range 5000 {
		low := math.Exp(16*rng.Float64() - 8)
		high := low * (1.001 + 5*rng.Float64())
		ticks := Linear{low, high, 0, 1}.Ticks(func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) })
		if len(ticks) < 2 || len(ticks) > 11 {
			t.Fatalf("%d ticks from %v to %v", len(ticks), low, high)
		}
		for _, tick := range ticks {
			if v, err := strconv.ParseFloat(tick.Text, 64); err != nil || v < low*(1-1e-6) || v > high*(1+1e-6) {
				t.Fatalf("ticks %v from %v to %v", ticks, low, high)
			}
		}
	}
}
