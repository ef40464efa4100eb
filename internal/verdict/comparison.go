package verdict

import (
	"math"

	"postage/internal/stats"
)

// Comparison is a contender compared with another, as ratios of a quantity: 0.5 is half of it. Low
// and High are 0 and +Inf while there are too few blocks.
type Comparison struct {
	To string // the contender that it is compared with, "" for none
	Interval
	HalfWidth float64 // half the interval's width: 0.01 is ±1%; +Inf with too few blocks
	seen      float64 // the least logarithm that is called different, 0 if not known
}

// differenceLevel is the p-value above which nothing is called different. The margin alone would
// call too many equal things different where intervals are wide.
const differenceLevel = 0.005

// Compare estimates the ratio from the block values, with its 95% interval.
func Compare(blockValues []float64) Comparison {
	s := stats.Paired(blockValues, differenceLevel)
	if len(blockValues) < stats.MinBlocks {
		return Comparison{"", Interval{math.Exp(s.Value), 0, math.Inf(1)}, math.Inf(1), math.Inf(1)}
	}
	return Comparison{"", ratioOf(&s), (s.High - s.Low) / 2, s.Seen}
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
