package verdict

import "math"

// Quantity is a figure with its interval, or one that is not known.
type Quantity struct {
	Interval
	Known bool
}

// QuantityOf is a figure that was measured.
func QuantityOf(v Interval) Quantity { return Quantity{v, true} }

// Exactly is a figure that was counted.
func Exactly(v float64) Quantity { return Quantity{Interval{v, v, v}, true} }

// Bounded reports whether the interval is finite.
func (q Quantity) Bounded() bool {
	return q.Known && !math.IsInf(q.Low, 0) && !math.IsInf(q.High, 0) && !math.IsNaN(q.Value)
}

// Undecided says that 0 is within the interval, or that there is none.
func (q Quantity) Undecided() bool { return !q.Bounded() || q.Low <= 0 && q.High >= 0 }

// Plus adds s times another figure. The errors of figures that were measured separately are
// independent, so half-widths add in quadrature, each side by itself.
func (q Quantity) Plus(s float64, o Quantity) Quantity {
	low, high := s*o.Low, s*o.High
	if s < 0 {
		low, high = high, low
	}
	value := q.Value + s*o.Value
	return Quantity{Interval{
		Value: value,
		Low:   value - math.Hypot(q.Value-q.Low, s*o.Value-low),
		High:  value + math.Hypot(q.High-q.Value, high-s*o.Value),
	}, q.Known && o.Known}
}

// Times multiplies by a factor above 0.
func (q Quantity) Times(f float64) Quantity {
	return Quantity{Interval{q.Value * f, q.Low * f, q.High * f}, q.Known}
}
