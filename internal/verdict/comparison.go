package verdict

import (
	"math"

	"postage/internal/stats"
)

// Comparison is a contender compared with another, as ratios of a quantity: 0.5 is half of it. Low
// and High are 0 and +Inf while there are too few blocks.
type Comparison struct {
	To string `json:"to"` // the contender that it is compared with, if it is one of a case
	Interval
	// HalfWidth is half the interval's width: 0.01 is ±1%. Within is that of the interval without
	// what differs between runs, which more blocks narrow. Both are +Inf with too few blocks.
	HalfWidth, Within float64
	seen              float64 // the least logarithm that is called different, 0 if not known
}

// differenceLevel is the p-value above which nothing is called different: where intervals are wide,
// the margin alone would let too many of equal things be.
const differenceLevel = 0.005

// Compare estimates the ratio from the block values, with the 95% interval in which a second run
// would find it. between is the standard deviation of the logarithm of what differs between runs,
// and not between blocks of one; 0 for none.
func Compare(blockValues []float64, between float64) Comparison {
	s := stats.Paired(blockValues, differenceLevel)
	if len(blockValues) < stats.MinBlocks {
		return Comparison{"", Interval{math.Exp(s.Value), 0, math.Inf(1)}, math.Inf(1), math.Inf(1), math.Inf(1)}
	}
	low, high := math.Hypot(s.Value-s.Low, 1.96*between), math.Hypot(s.High-s.Value, 1.96*between)
	ratio := Interval{s.Value, s.Value - low, s.Value + high}.Each(math.Exp)
	return Comparison{"", ratio, (low + high) / 2, (s.High - s.Low) / 2, s.Seen}
}

// Needed is the slowdown that would have made the comparison one of something slower, spread as it
// is; 0.02 is 2%.
func (c Comparison) Needed(margin float64) float64 {
	return math.Expm1(max(margin-math.Log(c.Low), c.seen-math.Log(c.Value)))
}

// Verdict is the word for a comparison.
type Verdict string

const (
	Faster    Verdict = "faster"
	Slower    Verdict = "slower"
	Same      Verdict = "same"
	Undecided Verdict = "undecided"
)

// Decide gives the verdict of an interval of ratios. Faster and slower need the whole interval to
// lie beyond the margin (0.01: 1%), so that a certain but negligible difference does not count, and
// a test at 0.5% to find a difference too. Same needs the whole interval within two margins of 1.
// All else is undecided: more blocks may decide it.
func Decide(c Comparison, margin float64) Verdict {
	low, high := math.Log(c.Low), math.Log(c.High)
	switch {
	case math.IsNaN(low) || math.IsNaN(high):
		return Undecided
	case high < -margin && (c.seen == 0 || -math.Log(c.Value) >= c.seen):
		return Faster
	case low > margin && (c.seen == 0 || math.Log(c.Value) >= c.seen):
		return Slower
	case low > -2*margin && high < 2*margin:
		return Same
	}
	return Undecided
}
