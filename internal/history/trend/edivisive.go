package trend

import (
	"math"
	"slices"

	"postage/internal/stats"
)

// MinSegment is how many values there must be on either side of a change for it to be
// found.
const MinSegment = 5

// ChangePoints finds where the distribution of the values of a series changed, such as a
// row's ratio from run to run. In a series without change it finds one with at most about
// the probability level (0.05: in one of 20 series).
//
// Neighbouring values may be correlated (AR(1), up to about 0.6), as on a machine that has good and
// bad days: the changes found first are looked for again after the correlation is removed (see
// whitened), until their number stays the same.
//
// It is E-divisive: the series is divided where the energy distance of the values before and after
// is greatest, if that is beyond chance, and then each part again. Three things differ from the
// paper:
//
//  1. Values are replaced by their ranks in the part that is looked at. A run beside a noisy
//     neighbour then weighs as much as any other, and the distribution under chance depends only on
//     the number of values. So the permutations of the paper's test are drawn once for all (see
//     significance) and not for each part of each series.
//  2. Parts are searched whole and in windows of half their length, a quarter and so on, which
//     overlap by half, in place of all pairs of beginning and end: otherwise a slowdown that was
//     fixed after some runs is lost in the mean of what follows. The whole part has half of the
//     level, the windows of all sizes share the other half.
//  3. Once no part divides, each change is moved to where its two neighbouring segments
//     divide best, and dropped if they do not.
//
// No value may be NaN. Many equal values make the level a little inexact. The time is
// O(n log² n): 10,000 values take some hundredths of a second.
//
// Sources: Matteson and James, "A nonparametric approach for multiple change point
// analysis of multivariate data", Journal of the American Statistical Association 109
// (2014); Kovács, Bühlmann, Li and Munk, "Seeded binary segmentation", Biometrika 110
// (2023), for the windows.
func ChangePoints(x []float64, level float64) []Change {
	d := divide(x, level)
	for n := math.MaxInt; len(d.found) > 0 && len(d.found) < n; {
		n = len(d.found)
		cuts := make([]int, n)
		for i, f := range d.found {
			cuts[i] = f.at
		}
		d = divide(whitened(x, cuts), level)
	}
	all := make([]Change, 0, len(d.found))
	for i, f := range d.found {
		from, to := d.neighbours(i)
		all = append(all, Change{f.at, stats.Median(x[from:f.at]), stats.Median(x[f.at:to]), math.Exp(f.logP)})
	}
	return all
}

// divide finds the changes of a series of uncorrelated values.
func divide(x []float64, level float64) *divider {
	d := &divider{dense: denseRanks(x), logLevel: math.Log(level)}
	d.look()
	d.divide(0, len(x))
	d.settle()
	return d
}

// division is the best division of the values from, including, to, excluding.
type division struct {
	from, to, at int
	q            float64
	// logP is the logarithm of the p-value, after allowance for all the divisions that
	// were tried.
	logP float64
}

// divider divides a series.
type divider struct {
	dense    []uint32
	logLevel float64
	windows  []division // those within the series that are significant
	found    []division // in the order of the series
	scan     energyScan
}

// look divides every window of the series.
func (d *divider) look() {
	n := len(d.dense)
	var lengths []int
	for length := (n + 1) / 2; length >= 2*MinSegment; length = (length + 1) / 2 {
		lengths = append(lengths, length)
	}
	for _, length := range lengths {
		count := 2*((n+length-1)/length) - 1
		allowance := math.Log(2 * float64(len(lengths)) * float64(count))
		if leastLogP(length, length/2)+allowance > d.logLevel {
			continue // so short that not even the clearest change would be significant
		}
		for i := range count {
			from := i * (n - length) / (count - 1)
			if w, ok := d.best(from, from+length, allowance); ok {
				d.windows = append(d.windows, w)
			}
		}
	}
}

// best is the best division of a part of the series, and whether it is significant.
func (d *divider) best(from, to int, allowance float64) (division, bool) {
	at, q := d.scan.best(d.dense[from:to])
	w := division{from: from, to: to, at: from + at, q: q, logP: allowance + significance(q, to-from, at)}
	return w, at > 0 && w.logP <= d.logLevel
}

// divide divides a part of the series, and each half again.
func (d *divider) divide(from, to int) {
	if to-from < 2*MinSegment {
		return
	}
	best, ok := d.best(from, to, math.Log(2))
	for _, w := range d.windows {
		if w.from >= from && w.to <= to && (!ok || w.logP < best.logP) {
			best, ok = w, true
		}
	}
	if !ok {
		return
	}
	d.divide(from, best.at)
	d.found = append(d.found, best)
	d.divide(best.at, to)
}

// neighbours are where the segments on either side of a change begin and end.
func (d *divider) neighbours(i int) (from, to int) {
	to = len(d.dense)
	if i > 0 {
		from = d.found[i-1].at
	}
	if i+1 < len(d.found) {
		to = d.found[i+1].at
	}
	return from, to
}

// settle moves each change to where its neighbouring segments divide best, and drops
// those whose segments do not divide. As many times as there are changes are enough: a
// step in a series is seldom moved twice.
func (d *divider) settle() {
	for range len(d.found) {
		moved := false
		for i := 0; i < len(d.found); i++ {
			from, to := d.neighbours(i)
			at, q := d.scan.best(d.dense[from:to])
			if at == 0 || significance(q, to-from, at) > d.logLevel {
				d.found = slices.Delete(d.found, i, i+1)
				i--
				moved = true
				continue
			}
			moved = moved || from+at != d.found[i].at
			d.found[i].at = from + at
		}
		if !moved {
			return
		}
	}
}

// denseRanks numbers the different values from 0 in ascending order. To sort parts of the
// series by them is several times as fast as by the values.
func denseRanks(x []float64) []uint32 {
	dense := make([]uint32, len(x))
	different := slices.Compact(slices.Sorted(slices.Values(x)))
	for i, v := range x {
		rank, _ := slices.BinarySearch(different, v)
		dense[i] = uint32(rank)
	}
	return dense
}

// energyScan finds the division of values with the greatest energy distance. It keeps
// its memory from one use to the next.
type energyScan struct {
	order []uint64 // value, and index in the lower half
	rank  []int64  // twice the mid-rank, of the values in their own order
	toAll []int64  // the sum of each value's distances to all
	count []int64  // Fenwick trees over the ranks, of the values before the division
	sum   []int64
}

// best returns the number of values before the division of x for which
//
//	q = m·n/(m+n) · (2·E|X-Y| - E|X-X'| - E|Y-Y'|)
//
// is greatest, where X and Y are the ranks of the m values before and the n after it,
// divided by m+n, and each mean is over all pairs. It is 0 for fewer values than two
// segments have.
//
// In one dimension the means need no pairs: as a value goes from one side to the other,
// each sum of distances changes by that to the values on one side, which two
// Fenwick trees give in O(log n).
func (s *energyScan) best(x []uint32) (at int, q float64) {
	total := len(x)
	if total < 2*MinSegment {
		return 0, 0
	}
	s.ranks(x)
	var all, allSum int64 // distances between all pairs, and ranks
	for i, v := range s.order {
		r := s.rank[uint32(v)]
		all += r*int64(i) - allSum
		allSum += r
	}
	var before, beforeSum, after int64 // distances between pairs before and after, and ranks before
	after = all
	q = math.Inf(-1)
	for i := range total - MinSegment {
		r := s.rank[i]
		position := int(r)/2 + 1
		var lower, lowerSum int64 // of the values before
		for j := position; j > 0; j &= j - 1 {
			lower += s.count[j]
			lowerSum += s.sum[j]
		}
		toBefore := r*lower - lowerSum + (beforeSum - lowerSum) - r*(int64(i)-lower)
		before += toBefore
		after -= s.toAll[i] - toBefore
		beforeSum += r
		for j := position; j < len(s.count); j += j & -j {
			s.count[j]++
			s.sum[j] += r
		}
		if i+1 < MinSegment {
			continue
		}
		m, n := float64(i+1), float64(total-i-1)
		between := float64(all - before - after)
		e := 2 * (between/(m*n) - float64(before)/(m*m) - float64(after)/(n*n))
		if v := m * n / (m + n) * e / (2 * (m + n)); v > q {
			at, q = i+1, v
		}
	}
	return at, q
}

// ranks sets the values' ranks, from 0, doubled so that the mean rank of ties is whole.
func (s *energyScan) ranks(x []uint32) {
	n := len(x)
	s.order = slices.Grow(s.order[:0], n)
	for i, v := range x {
		s.order = append(s.order, uint64(v)<<32|uint64(i))
	}
	slices.Sort(s.order)
	s.rank = slices.Grow(s.rank[:0], n)[:n]
	s.toAll = slices.Grow(s.toAll[:0], n)[:n]
	for i := 0; i < n; {
		j := i + 1
		for j < n && s.order[j]>>32 == s.order[i]>>32 {
			j++
		}
		// Doubled ranks from 0 sum up to k·(k-1) for the first k values.
		r, lower, all := int64(i+j-1), int64(i), int64(n)
		sumBelow := lower * (lower - 1)
		toAll := r*lower - sumBelow + (all*(all-1) - sumBelow) - r*(all-lower)
		for _, v := range s.order[i:j] {
			s.rank[uint32(v)], s.toAll[uint32(v)] = r, toAll
		}
		i = j
	}
	s.count = slices.Grow(s.count[:0], n+1)[:n+1]
	s.sum = slices.Grow(s.sum[:0], n+1)[:n+1]
	clear(s.count)
	clear(s.sum)
}
