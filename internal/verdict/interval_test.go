package verdict_test

import (
	"math"
	"testing"

	"postage/internal/verdict"
)

func TestBounded(t *testing.T) {
	of := func(value, low, high float64) verdict.Interval {
		return verdict.Interval{Value: value, Low: low, High: high}
	}
	a := of(10, 7, 14)
	unbounded := of(1, math.Inf(-1), math.Inf(1))
	if !a.Bounded() {
		t.Errorf("%+v is not bounded", a)
	}
	if unbounded.Bounded() || of(1, 0, math.Inf(1)).Bounded() {
		t.Errorf("%+v is bounded", unbounded)
	}
}
