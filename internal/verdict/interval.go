package verdict

import (
	"encoding/json"
	"math"
)

// Interval is a value with its 95% interval; a bound is infinite where there are too few blocks for
// one.
type Interval struct {
	Value, Low, High float64
}

// MarshalJSON writes value, low and high. Bounds that there are too few blocks for are null, and so
// is an interval of no number.
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

// Exactly is a figure that was counted.
func Exactly(v float64) Interval { return Interval{v, v, v} }

// Bounded reports whether there were enough blocks for both bounds.
func (i Interval) Bounded() bool {
	return !math.IsInf(i.Low, 0) && !math.IsInf(i.High, 0) && !math.IsNaN(i.Value)
}

// Contains reports whether the interval does.
func (i Interval) Contains(truth float64) bool { return i.Low <= truth && truth <= i.High }

// Plus adds s times another figure. The errors of figures that were measured separately are
// independent, so half-widths add in quadrature, each side by itself.
func (i Interval) Plus(s float64, o Interval) Interval {
	low, high := s*o.Low, s*o.High
	if s < 0 {
		low, high = high, low
	}
	value := i.Value + s*o.Value
	return Interval{
		Value: value,
		Low:   value - math.Hypot(i.Value-i.Low, s*o.Value-low),
		High:  value + math.Hypot(i.High-i.Value, high-s*o.Value),
	}
}

// Times multiplies by a factor above 0.
func (i Interval) Times(f float64) Interval { return Interval{i.Value * f, i.Low * f, i.High * f} }

// to is the interval in proportion, about another value.
func (i Interval) to(value float64) *Interval {
	i = i.Times(value / i.Value)
	i.Value = value
	return &i
}

// Each is the interval with a function of its value and bounds in their place.
func (i Interval) Each(f func(float64) float64) Interval {
	return Interval{f(i.Value), f(i.Low), f(i.High)}
}
