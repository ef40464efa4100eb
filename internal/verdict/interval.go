package verdict

import (
	"encoding/json"
	"math"
)

// Interval is a value with its 95% interval. With too few blocks its bounds are infinite.
type Interval struct {
	Value, Low, High float64
}

// MarshalJSON writes value, low and high. Infinite bounds are null. An interval whose value is no
// number is null as a whole.
func (i Interval) MarshalJSON() ([]byte, error) {
	var out struct {
		Value float64  `json:"value"`
		Low   *float64 `json:"low"`
		High  *float64 `json:"high"`
	}
	if math.IsInf(i.Value, 0) || math.IsNaN(i.Value) {
		return []byte("null"), nil
	}
	out.Value = i.Value
	if i.Bounded() {
		out.Low, out.High = &i.Low, &i.High
	}
	return json.Marshal(out)
}

// Exactly is the interval of a figure that was counted.
func Exactly(v float64) Interval { return Interval{v, v, v} }

// Bounded reports whether there were enough blocks for both bounds.
func (i Interval) Bounded() bool {
	return !math.IsInf(i.Low, 0) && !math.IsInf(i.High, 0) && !math.IsNaN(i.Value)
}

// HalfWidth is half the width of a ratio's interval, as a logarithm: 0.01 is ±1%.
func (i Interval) HalfWidth() float64 { return math.Log(i.High/i.Low) / 2 }

func (i Interval) Contains(truth float64) bool { return i.Low <= truth && truth <= i.High }

// over is a positive figure as a multiple of another that was measured without it. Each has half an
// interval, as a logarithm; the multiple's half is the root of the sum of their squares.
func (i Interval) over(base Interval) Interval {
	value, spread := i.Value/base.Value, math.Inf(1)
	if i.Bounded() && base.Bounded() {
		spread = math.Exp(math.Hypot(i.HalfWidth(), base.HalfWidth()))
	}
	return Interval{value, value / spread, value * spread}
}

// to is an interval about another value, with bounds in proportion.
func (i Interval) to(value float64) *Interval {
	factor := value / i.Value
	return &Interval{value, i.Low * factor, i.High * factor}
}

// Each is the interval with a function of its value and bounds in their place.
func (i Interval) Each(f func(float64) float64) Interval {
	return Interval{f(i.Value), f(i.Low), f(i.High)}
}
