package verdict

import (
	"math"

	"postage/internal/stats"
)

// differenceLevel is the p-value above which nothing is called different. The margin alone would
// call too many equal things different where intervals are wide.
const differenceLevel = 0.005

// Compare estimates a ratio, with its 95% interval, from its logarithms in the blocks. With too few
// blocks the bounds are 0 and +Inf.
func Compare(blockValues []float64) Interval { return located(blockValues).Each(math.Exp) }

// Verdict is the word for a comparison.
type Verdict string

const (
	Faster    Verdict = "faster"
	Slower    Verdict = "slower"
	Same      Verdict = "same"
	Undecided Verdict = "undecided"
)

// Decide gives the verdict of an interval of ratios. Faster and slower need the whole interval to
// lie beyond the margin (0.01: 1%), so that a certain but negligible difference does not count. Same
// needs the whole interval within two margins of 1. All else is undecided: more blocks may decide it.
func Decide(ratio Interval, margin float64) Verdict {
	low, high := math.Log(ratio.Low), math.Log(ratio.High)
	switch {
	case math.IsNaN(low) || math.IsNaN(high):
		return Undecided
	case high < -margin:
		return Faster
	case low > margin:
		return Slower
	case low > -2*margin && high < 2*margin:
		return Same
	}
	return Undecided
}

// DecideBlocks gives the verdict of the ratio that the blocks have. Faster and slower also need a
// test at 0.5% to find a difference.
func DecideBlocks(blockValues []float64, margin float64) Verdict {
	v := Decide(Compare(blockValues), margin)
	test := stats.Paired(blockValues, differenceLevel)
	if (v == Faster || v == Slower) && math.Abs(test.Value) < test.Seen {
		return Undecided
	}
	return v
}
