package cost_test

import (
	"math"
	"testing"

	"postage/internal/cost"
	"postage/internal/verdict"
)

// A bill that can be computed by hand.
func TestBillByHand(t *testing.T) {
	part := func(name string, value, low, high float64) cost.Part {
		return cost.Part{name, verdict.Interval{Value: value, Low: low, High: high}}
	}
	m := &cost.Model{Messages: []string{"m"}, Steps: []cost.Step{
		{Name: "codec", Lists: [][]cost.Option{{
			{Label: "a", Parts: []cost.Part{part("encode", 3000, 2700, 3300), part("decode", 4000, 3600, 4400)}, Bytes: 100},
			{Label: "b", Parts: []cost.Part{part("encode", 1000, 1000, 1000), part("decode", 1000, 1000, 1000)}, Bytes: 150},
		}}},
		{Name: "seal", Lists: [][]cost.Option{{{Label: "none"}, {Label: "sealed", Parts: []cost.Part{part("seal", 5000, math.Inf(-1), math.Inf(1))}, Bytes: 500, Whole: true}}}},
		{Name: "send", Lists: [][]cost.Option{{{Label: "none"}, {Label: "http", Bytes: 900, Carries: true}}}},
		{Name: "store", Lists: [][]cost.Option{{{Label: "none"}}}},
	}}
	// 2,628,000 messages a month; of 3600 s, 0.0026 h the microsecond; 2.628 GB the 1000 bytes.
	ch := cost.Choice{At: []int{0, 0, 1, 0}, Rate: 1, CPUHour: 1000, GB: 10}
	b := m.Bill(ch)
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9*math.Abs(want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	near("encode", b.Lines[0].USD.Value, 2.19) // 3 µs × 2,628,000 / 3600 s × 1000
	near("decode", b.Lines[1].USD.Value, 2.92)
	near("traffic", b.Lines[2].USD.Value, 26.28)
	near("total", b.Total.Value, 31.39)
	near("half-width", b.Total.High-b.Total.Value, math.Hypot(0.219, 0.292))
	near("saving", b.Switches[0].Saving.Value, 2.19+2.92-1.46-1.314)
	if s := b.Switches[0]; s.What != "codec" || s.From != "a" || s.To != "b" || len(b.Switches) != 1 {
		t.Errorf("%+v", b.Switches)
	}
	// What is sealed has the seal's size, and its part has no interval.
	ch = ch.With(1, 1)
	b = m.Bill(ch)
	near("sealed traffic", b.Lines[3].USD.Value, 1400*26.28/1000)
	if b.Total.Bounded() {
		t.Errorf("an interval from nothing: %+v", b.Total)
	}
	// Nothing sent is no traffic.
	near("unsent", m.Bill(cost.Choice{At: []int{0, 0, 0, 0}, Rate: 1, CPUHour: 1000, GB: 10}).Lines[2].USD.Value, 0)
}
