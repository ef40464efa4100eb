package verdict_test

import (
	"math"
	"testing"

	"postage/internal/verdict"
)

func TestIntervalArithmetic(t *testing.T) {
	of := func(value, low, high float64) verdict.Interval {
		return verdict.Interval{Value: value, Low: low, High: high}
	}
	a, b := of(10, 7, 14), of(1, -3, 4)
	for _, r := range []struct{ got, want verdict.Interval }{
		{a.Plus(1, b), of(11, 6, 16)}, // 3 and 4 below, 4 and 3 above
		{a.Plus(-1, b), of(9, 9-math.Hypot(3, 3), 9+math.Hypot(4, 4))},
		{verdict.Exactly(3).Plus(2, verdict.Exactly(4)), verdict.Exactly(11)},
	} {
		if r.got != r.want {
			t.Errorf("%+v, want %+v", r.got, r.want)
		}
	}
	unbounded := of(1, math.Inf(-1), math.Inf(1))
	if !a.Bounded() || a.Plus(1, unbounded).Bounded() {
		t.Error("what is decided and bounded")
	}
	if unbounded.Bounded() || of(1, 0, math.Inf(1)).Bounded() {
		t.Errorf("%+v is bounded", unbounded)
	}
}
