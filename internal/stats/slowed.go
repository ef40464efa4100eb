package stats

import (
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// Slope is that of the logarithm of what a row takes by that of what the witness takes beside it:
// the sums of the products, and of the witness's squares, of what both differ from their means.
type Slope struct{ Products, Squares float64 }

// NewSlope is that of points.
func NewSlope(witness, ns []float64) Slope {
	n := float64(len(ns) - 1)
	if n < 1 {
		return Slope{}
	}
	return Slope{n * stat.Covariance(witness, ns, nil), n * stat.Variance(witness, nil)}
}

// Plus is the slope of what both were seen of, each about its own mean.
func (s Slope) Plus(o Slope) Slope { return Slope{s.Products + o.Products, s.Squares + o.Squares} }

// OfProcess is the slope of parts of one process, which tell little more if they are many: the same
// code is slowed otherwise in another. Where they meet collections, they tell a third.
func (s Slope) OfProcess(collects bool) Slope {
	const most = 100
	weight := most / (most + s.Squares)
	if collects {
		weight /= 3
	}
	return s.by(weight, weight)
}

func (s Slope) by(products, squares float64) Slope {
	return Slope{products * s.Products, squares * s.Squares}
}

// steep is at least a little: what slows the witness makes nothing faster.
func (s Slope) steep() float64 { return max(0.2, s.Products/s.Squares) }

// UsualPower is that of what the witness takes by which other code, which uses memory, is slowed.
const UsualPower = 0.85

// Powers are those of what the witness takes by which rows are slowed. Means of long times are
// true, and few: they tell the power that rows have in common, shrunk towards the usual one. Parts
// are hundreds, but the witness before and after one knows only roughly what slowed it: how steep a
// row's are beside those of other rows tells its own power beside the common one.
func Powers(means, parts []Slope) (powers []float64) {
	// A mean tells as much as so many parts; and so much is as if seen of rows that are alike.
	const each, alike = 100, 40
	all, slopes, common := Slope{0.02 * UsualPower, 0.02}, []float64(nil), Slope{0.02 * UsualPower, 0.02}
	for i := range means {
		if all = all.Plus(means[i]); parts[i].Products > 0 {
			slopes = append(slopes, parts[i].steep())
		}
	}
	for i, own := range means {
		seen := own.by(each/all.steep(), each).Plus(Slope{alike, alike})
		if len(slopes) > 0 {
			seen = seen.Plus(parts[i].by(1/Median(slopes), 1))
		}
		powers = append(powers, seen.steep())
		common = common.Plus(own.by(seen.steep(), seen.steep()*seen.steep()))
	}
	floats.Scale(common.steep(), powers)
	return powers
}
