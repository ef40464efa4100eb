package stats

import (
	"cmp"
	"math"
	"slices"
)

// Batches are one row's batches in one block, in the order of the rounds: what an
// operation took, in any one unit, and how many collections of garbage fell into each.
type Batches struct {
	Time        []float64
	Collections []float64
}

// Levels are a row's block values, as logarithms, one a block: Fast of the fastest
// share of its batches, Mean of them all. Tail is how much the second lies above the
// first in the middle block.
type Levels struct{ Fast, Mean []float64 }

// CollectedLevels finds the level of each block of a row. rate is how many garbage collections the
// row needs for a batch in the long run. share, in (0, 1], is the part of a block's batches that
// its level is taken from: a neighbour makes batches slower and never faster, so the fast ones are
// alike even while it is there.
//
// A collection falls into, say, every third or every twentieth batch: whether a block has one more
// or less is chance, and its fast batches have none. So the cost of collections is taken out of the
// batches and put back at the row's rate:
//
//  1. The cost of one is the slope of time over collections within blocks (a block's
//     own level does not enter), estimated over all of them.
//  2. It is taken from each batch that had collections; the level is the mean of the
//     fastest share of what is left, plus rate times the cost.
//  3. The cost is common to all blocks, and so is its error, which an interval made of the blocks'
//     spread would not cover. So each block's level includes how much this block moves the common
//     cost (its influence). These sum to zero: the estimate stays, and the interval is as wide as
//     it must be.
//
// A block without batches has NaN.
func CollectedLevels(blocks []Batches, rate, share float64) Levels {
	cost := collectionCosts(blocks)
	l := Levels{make([]float64, len(blocks)), make([]float64, len(blocks))}
	for i, b := range blocks {
		if len(b.Time) == 0 {
			l.Fast[i], l.Mean[i] = math.NaN(), math.NaN()
			continue
		}
		type batch struct{ left, collections float64 }
		batches := make([]batch, len(b.Time))
		for j, t := range b.Time {
			// No more than half of a batch: the estimate may be too high for this one.
			batches[j] = batch{t - min(cost.each*cost.scale[i]*b.collections(j), t/2), b.collections(j)}
		}
		level := func(some []batch) float64 {
			var left, collections float64
			for _, x := range some {
				left += x.left
				collections += x.collections
			}
			n := float64(len(some))
			unit := cost.scale[i]
			value := left/n + rate*cost.each*unit
			// How far the level moves with the cost: not at all if these batches had as many
			// collections as the rate says.
			return math.Log(value) + (rate-collections/n)*unit/value*cost.influence[i]
		}
		l.Mean[i] = level(batches)
		slices.SortFunc(batches, func(a, b batch) int {
			return cmp.Or(cmp.Compare(a.collections, b.collections), cmp.Compare(a.left, b.left))
		})
		// Collections differ from one another: batches that had fewest are more alike.
		fewest := len(batches)
		for fewest > len(batches)/2 && batches[fewest-1].collections > batches[len(batches)/2].collections {
			fewest--
		}
		fast := batches[:fewest]
		slices.SortFunc(fast, func(a, b batch) int { return cmp.Compare(a.left, b.left) })
		l.Fast[i] = level(fast[:part(share, fewest)])
	}
	return l
}

func (b *Batches) collections(i int) float64 {
	if b.Collections == nil {
		return 0
	}
	return b.Collections[i]
}

// costs is what a collection costs, as a multiple of the block's scale.
type costs struct {
	each      float64
	influence []float64 // of each block on it; they sum to 0
	scale     []float64 // of each block: the mean of its fastest quarter
}

// collectionCosts finds what a collection costs, and what it would cost without each of
// the blocks (jackknife), from which follows by how much that block moves it.
func collectionCosts(blocks []Batches) costs {
	c := costs{influence: make([]float64, len(blocks)), scale: make([]float64, len(blocks))}
	relative := make([]Batches, len(blocks))
	for i, b := range blocks {
		c.scale[i] = fastest(b.Time)
		relative[i] = Batches{Time: make([]float64, len(b.Time)), Collections: make([]float64, len(b.Time))}
		for j, t := range b.Time {
			relative[i].Time[j], relative[i].Collections[j] = t/c.scale[i], b.collections(j)
		}
	}
	if c.each = collectionCost(relative, -1); c.each > 0 {
		var sum float64
		for i := range blocks {
			c.influence[i] = float64(len(blocks)-1) * (c.each - collectionCost(relative, i))
			sum += c.influence[i]
		}
		for i := range blocks {
			c.influence[i] -= sum / float64(len(blocks))
		}
	}
	return c
}

// collectionCost is the slope of time over collections within blocks, but for the block without, as
// a multiple of a batch that has none. Batches far from others with as many collections are moved
// closer, so that another disturbance does not count as the cost of a collection.
func collectionCost(blocks []Batches, without int) float64 {
	byCount := map[float64][]float64{}
	for i, b := range blocks {
		for j, t := range b.Time {
			if i != without {
				byCount[b.Collections[j]] = append(byCount[b.Collections[j]], t)
			}
		}
	}
	if len(byCount) < 2 {
		return 0
	}
	limit, usual := limits(byCount), 1.0
	fewest := math.Inf(1)
	for count, values := range byCount {
		if count < fewest {
			fewest, usual = count, Median(values)
		}
	}
	var xy, xx float64
	for i, b := range blocks {
		if i == without {
			continue
		}
		var meanX, meanY float64
		for j, t := range b.Time {
			l := limit[b.Collections[j]]
			meanX += b.Collections[j] / float64(len(b.Time))
			meanY += min(max(t, l[0]), l[1]) / float64(len(b.Time))
		}
		for j, t := range b.Time {
			l, dx := limit[b.Collections[j]], b.Collections[j]-meanX
			xy += dx * (min(max(t, l[0]), l[1]) - meanY)
			xx += dx * dx
		}
	}
	if xx == 0 || xy <= 0 {
		return 0 // a collection cannot save time
	}
	return xy / xx / usual
}

// fastest is the mean of the fastest quarter.
func fastest(times []float64) float64 {
	sorted := slices.Sorted(slices.Values(times))
	if len(sorted) == 0 {
		return math.NaN()
	}
	sum, n := 0.0, part(0.25, len(sorted))
	for _, t := range sorted[:n] {
		sum += t
	}
	return sum / float64(n)
}

func part(share float64, n int) int { return max(1, int(math.Round(share*float64(n)))) }

// limits are, by the number of collections, what a batch's time can be without being far from the
// others'.
func limits(byCount map[float64][]float64) map[float64][2]float64 {
	limit := map[float64][2]float64{}
	for count, values := range byCount {
		middle := Median(values)
		var apart []float64
		for _, v := range values {
			apart = append(apart, math.Abs(v-middle))
		}
		reach := 3 * 1.4826 * Median(apart)
		limit[count] = [2]float64{middle - reach, middle + reach}
	}
	return limit
}
