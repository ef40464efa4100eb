package stats

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// Costed is what a row's batches say of its cost, in the blocks of its case.
type Costed struct {
	// Group names the rows that allocate alike, the same code twice: what a byte costs to collect
	// is one figure for them.
	Group string
	Code  string // names rows of a group that are the same code, "" if all are
	// Bytes in so many objects that an operation allocates; Ops are the operations of a batch.
	Bytes, Objects, Ops float64
	Blocks              []CostedBlock // one a block of the case, empty where the row was not in it
}

// CostedBlock is a row's batches in a block. Times are of CPU, in ns.
type CostedBlock struct {
	Fast        float64   // an operation's in the pieces of batches that nothing disturbed, 0 for none
	Each        []float64 // the same of each batch by itself, nil for none
	CPU         []float64 // a batch's
	Collections []float64 // of garbage, that fell into each batch
	Cycle       float64   // bytes allocated from one collection to the next, 0 if not known
	Plain       float64   // an operation's where the row is let run, with its garbage if it had a cycle; 0 if not measured
	Witness     float64   // what a loop of branches took meanwhile
	Least       float64   // and in its fastest tenth, 0 if not known
	Parts       Slope     // of the parts of that
}

// Costs are what the rows of a case cost.
type Costs struct {
	rows  []Costed
	quiet []float64 // what an operation takes in the fastest tenth of a row's batches, 0 if not known
	slows []float64 // how many times as long a block's fastest batch took
	least float64   // what the witness takes where nothing slows it, if it is known
	cycle float64   // in the middle, NaN if not known
	all   factors   // of all blocks
	moved []factors // of all but one, by that block
}

// factors make a cost of what is measured, by row: the power of what the witness takes by which an
// operation let run is slowed, what it takes over its code in pieces, and what a byte costs.
type factors struct{ powers, usual, prices []float64 }

// NewCosts finds what the rows of a case cost. It is two parts, each by what measures it best:
//
//  1. Code is the time of pieces of batches that nothing disturbed, times what is usual where rows
//     are let run. Of an operation too long for pieces it is what it takes let run less its garbage,
//     or else the lower quartile of a block's batches, less their collections.
//  2. Garbage is the bytes that an operation allocates, which are counted, times what a byte costs.
//     Both that and what is usual are what the rows let run have in common, at full speed, and a
//     factor of each group's own.
func NewCosts(rows []Costed) *Costs {
	c, blocks, cycles, leasts := &Costs{rows: rows}, 0, []float64(nil), []float64(nil)
	each := map[string][]float64{} // of the same code: a control may meet quiet moments that its row does not
	for _, r := range rows {
		code := cmp.Or(r.Code, r.Group)
		for _, b := range r.Blocks {
			each[code], cycles, leasts = append(each[code], b.Each...), append(cycles, b.Cycle), append(leasts, b.Least)
		}
		blocks = max(blocks, len(r.Blocks))
	}
	for _, r := range rows {
		c.quiet = append(c.quiet, FastestTenth(each[cmp.Or(r.Code, r.Group)]))
	}
	unknown := func(v float64) bool { return v == 0 }
	c.cycle, c.least = Median(slices.DeleteFunc(cycles, unknown)), FastestTenth(slices.DeleteFunc(leasts, unknown))
	for b := range blocks {
		slows := []float64{math.Inf(1)}
		for i, r := range rows {
			for _, v := range r.Blocks[b].Each {
				slows = append(slows, v/c.quiet[i])
			}
		}
		c.slows = append(c.slows, max(1, slices.Min(slows)))
	}
	c.all = c.factorsWithout(-1)
	for b := range blocks {
		c.moved = append(c.moved, c.factorsWithout(b))
	}
	return c
}

// Price is what a byte that the row allocates costs to collect, in ns.
func (c *Costs) Price(row int) float64 { return c.all.prices[row] }

// Bytes are what an operation of the row allocates.
func (c *Costs) Bytes(row int) float64 { return c.rows[row].Bytes }

// Levels are the logarithms of what an operation of a row costs, in ns, one a block; NaN for blocks
// without the row. perByte, if not nil, takes the place of the row's price.
func (c *Costs) Levels(row int, perByte *float64) []float64 {
	levels := c.levels(row, perByte)
	c.widen(levels, row, row)
	floats.Add(levels, c.moves(row, perByte))
	return levels
}

// Differences are by how much the logarithms of a row's cost lie above another's, one a block; NaN
// for blocks without both.
func (c *Costs) Differences(row, other int, perByte, perByteOther *float64) []float64 {
	differences := c.levels(row, perByte)
	c.widen(floats.SubTo(differences, differences, c.levels(other, perByteOther)), row, other)
	floats.Add(differences, c.moves(row, perByte))
	return floats.SubTo(differences, differences, c.moves(other, perByteOther))
}

// levels are those by the factors of all blocks.
func (c *Costs) levels(row int, perByte *float64) []float64 {
	levels := make([]float64, len(c.rows[row].Blocks))
	for b := range levels {
		levels[b] = c.level(row, &c.all, c.code(row, b), perByte)
	}
	return levels
}

// widen has the values as far apart as if there were only blocks in which both rows have batches
// that were not slowed: in the others they are taken to be as in all blocks, which tells nothing.
// If fewer than two tell, a row is known to no more than a factor of two, by which others slow it.
func (c *Costs) widen(values []float64, row, other int) {
	present, telling := []float64(nil), 0
	for b, v := range values {
		if !math.IsNaN(v) {
			if present = append(present, v); c.tells(row, b) && c.tells(other, b) {
				telling++
			}
		}
	}
	mean, times := stats.Mean(present), math.Pow(float64(len(present)-1)/float64(max(1, telling-1)), 1.5)
	apart := math.Ln2 * math.Sqrt(float64(len(present))) * float64(max(0, 2-telling))
	middle := apart * float64(len(present)%2) / float64(max(1, len(present)))
	for b, v := range values {
		if values[b] = mean + (v-mean)*times + apart - middle; !math.IsNaN(v) {
			apart = -apart
		}
	}
}

// tells is whether a row has batches in a block that were not slowed, or needs none.
func (c *Costs) tells(row, block int) bool {
	return c.quiet[row] == 0 || len(c.quietBatches(row, block)) > 0
}

// quietBatches are what an operation's code takes in a block's batches that were slowed by at most
// 3% more than all of the block's; what is far below the row's others is an error of a few pieces.
func (c *Costs) quietBatches(row, block int) []float64 {
	each, quiet := slices.Clone(c.rows[row].Blocks[block].Each), c.quiet[row]
	return slices.DeleteFunc(each, func(v float64) bool { return v > 1.03*c.slows[block]*quiet || v < 0.95*quiet })
}

// moves are by how much each block moves a row's level by the factors (jackknife); they sum to
// zero. An error of a factor is common to all blocks, and an interval made of the spread of their
// codes would not cover it, so each level includes its block's.
func (c *Costs) moves(row int, perByte *float64) []float64 {
	moves, present, sum := make([]float64, len(c.rows[row].Blocks)), 0.0, 0.0
	for b := range moves {
		if code := c.code(row, b); !math.IsNaN(code) {
			moves[b] = c.level(row, &c.all, code, perByte) - c.level(row, &c.moved[b], code, perByte)
			present, sum = present+1, sum+moves[b]
		}
	}
	for b := range moves {
		moves[b] = (present - 1) * (moves[b] - sum/present)
	}
	return moves
}

// level is the logarithm of what an operation of a row costs by the factors, whose code takes so
// long in a block: its garbage was slowed as much, of a row with pieces.
func (c *Costs) level(row int, by *factors, code float64, perByte *float64) float64 {
	slow := code / cmp.Or(c.quiet[row], code)
	return math.Log(by.usual[row]*code + slow**cmp.Or(perByte, &by.prices[row])*c.rows[row].Bytes)
}

// Means are the logarithms of the mean CPU time of all batches, their collections at the row's
// rate, one a block: what no piece may leave out.
func (c *Costs) Means(row int) []float64 {
	r := &c.rows[row]
	means := make([]float64, len(r.Blocks))
	for b := range means {
		means[b] = math.Log(max(stats.Mean(c.left(row, b))/r.Ops, 1e-3) + c.Price(row)*r.Bytes)
	}
	return means
}

// left is what batches took without their collections, which cost at most most of it.
func (c *Costs) left(row, block int) []float64 {
	b := &c.rows[row].Blocks[block]
	left := slices.Clone(b.CPU)
	for i := range left {
		if b.Collections != nil && !math.IsNaN(c.cycle) {
			left[i] -= min(b.Collections[i]*c.Price(row)*c.cycle, 0.9*left[i])
		}
	}
	return left
}

// atFullSpeed is what would have taken so long in a block where nothing slows the processor.
func (c *Costs) atFullSpeed(ns float64, row, block int, by *factors) float64 {
	return ns * math.Exp(-by.powers[row]*c.witnessed(row, block))
}

// witnessed is the logarithm of how many times as long as at best the witness took.
func (c *Costs) witnessed(row, block int) float64 {
	if b := c.rows[row].Blocks[block]; b.Least > 0 {
		return math.Log(b.Witness / c.least)
	}
	return 0
}

// powersWithout are the rows' of all blocks but one.
func (c *Costs) powersWithout(block int) []float64 {
	means, parts := make([]Slope, len(c.rows)), make([]Slope, len(c.rows))
	for i, r := range c.rows {
		var witness, ns []float64
		for b, of := range r.Blocks {
			if b != block && of.Plain > 0 {
				witness, ns = append(witness, c.witnessed(i, b)), append(ns, math.Log(of.Plain))
				parts[i] = parts[i].Plus(of.Parts.OfProcess(of.Cycle > 0))
			}
		}
		means[i] = NewSlope(witness, ns)
	}
	return Powers(means, parts)
}

// code is what an operation's code takes in a block; NaN without batches.
func (c *Costs) code(row, block int) float64 {
	b, quiet := &c.rows[row].Blocks[block], c.quietBatches(row, block)
	switch {
	case len(quiet) > 0:
		return Median(quiet)
	case c.quiet[row] > 0 && len(b.CPU) > 0 && !math.IsInf(c.slows[block], 1):
		return c.quiet[row] * c.slows[block]
	case b.Fast == 0 && b.Plain > 0:
		return max((c.atFullSpeed(b.Plain, row, block, &c.all)-min(1, b.Cycle)*c.Price(row)*c.Bytes(row))/c.all.usual[row], 1e-3)
	}
	return cmp.Or(b.Fast, stats.Sample{Xs: c.left(row, block)}.Quantile(0.25)/c.rows[row].Ops)
}

// FastestTenth is what a tenth of the values are below, 0 for none.
func FastestTenth(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(values))[len(values)/10]
}

// factorsWithout are those of all blocks but one. What groups of rows take let run, as multiples of
// quiet code, is a line by the bytes allocated for each ns of it, and a factor of a group's own.
func (c *Costs) factorsWithout(block int) factors {
	f, samples, groups := factors{powers: c.powersWithout(block)}, map[string]*sample{}, map[string]*group{}
	for i, r := range c.rows {
		of := cmp.Or(samples[r.Group], &sample{})
		samples[r.Group] = of
		for b, at := range r.Blocks {
			if code := cmp.Or(c.quiet[i], at.Fast); code > 0 && at.Plain > 0 {
				of.perCode = min(1, at.Cycle) * r.Bytes * r.byObjects() / code
				of.add(b != block, c.atFullSpeed(at.Plain, i, b, &f)/code-c.cold(i))
			}
		}
	}
	for name, of := range samples {
		if g := of.group(true); g != nil {
			groups[name] = g
		}
	}
	usual, price := line(slices.SortedFunc(maps.Values(groups), func(a, b *group) int { return cmp.Compare(a.value, b.value) }))
	for i, r := range c.rows {
		own := cmp.Or(groups[r.Group], &group{shrunk: 1}).shrunk
		f.usual, f.prices = append(f.usual, own*usual+c.cold(i)), append(f.prices, own*price*r.byObjects())
		if len(groups) == 0 || !slices.ContainsFunc(r.Blocks, func(b CostedBlock) bool { return b.Fast > 0 }) {
			f.usual[i] = 1 // whole batches are usual ones
		}
	}
	if len(groups) == 0 {
		f.prices = c.pricesWithout(block)
	}
	return f
}

// byObjects is how many times as dear a byte is as in large objects: one costs as much as 5 bytes.
func (c *Costed) byObjects() float64 { return 1 + 5*c.Objects/max(1, c.Bytes) }

// cold is what code takes longer, as a share, where the memory that it allocates has pushed other
// things out of the caches.
func (c *Costs) cold(row int) float64 {
	return 0.05 * min(1, 20*c.rows[row].Bytes/max(c.quiet[row], 1))
}

// Rows differ by so much from what a case's have in common; what is far from that by so many
// deviations is half taken to be an exception.
const rowsDiffer, exception = 0.01, 3

// line is what code takes as usual where groups are let run, and what a byte costs: what is nearest
// to all (Huber, "Robust Estimation of a Location Parameter", Annals of Mathematical Statistics 35
// (1964)), and to 1.05 ± 3% and 0.55 ± 0.3 ns, which is all there is where rows allocate alike.
// Each group's own factor is shrunk towards 1 by how well it is known, exceptions less.
func line(groups []*group) (usual, price float64) {
	x, y, deviations := []float64{0, 1}, []float64{1.05, 1.6}, []float64{0.03, 0.2}
	for _, g := range groups {
		x, y = append(x, g.perCode), append(y, g.value)
		deviations = append(deviations, math.Hypot(math.Sqrt(g.variance)/g.value, rowsDiffer))
	}
	usual, price = 1.05, 0.5
	weights := make([]float64, len(x))
	for range 20 {
		for i := range x {
			deviation := deviations[i] * (usual + price*x[i])
			weights[i] = min(1, 1.5*deviation/math.Abs(y[i]-usual-price*x[i])) / deviation / deviation
		}
		if usual, price = stat.LinearRegression(x, y, weights, false); price < 0 {
			usual, price = stat.Mean(y, weights), 0
		}
	}
	for i, g := range groups {
		off := math.Log(g.value / (usual + price*g.perCode))
		of, own := off/deviations[i+2], rowsDiffer/deviations[i+2]
		g.shrunk = math.Exp(off * (1 - (1-own*own)/(1+math.Pow(of/exception, 4))))
	}
	return usual, price
}

// sample is what all blocks say of a factor, or all but one: there are as many of all.
type sample struct {
	values  []float64
	all     int
	perCode float64 // bytes allocated for each ns of code
}

func (s *sample) add(in bool, values ...float64) {
	if s.all += len(values); in {
		s.values = append(s.values, values...)
	}
}

// group is the values' own, nil if they are too few: of all blocks but one they are if all are. Of
// rows that are let run it is the mean of the lower half, as other guests, who use the host's
// memory at times, only add to it; else that of the middle half.
func (s *sample) group(letRun bool) *group {
	n := len(s.values)
	if s.all < 3 || n == 0 {
		return nil
	}
	values := slices.Sorted(slices.Values(s.values))
	middle, apart, mean, from, to := Median(values), 0.0, 0.0, float64(n)/4, float64(3*n)/4
	if letRun {
		from, to = 0, float64(n)/2
	}
	for i, v := range values { // of one at an end counts what is between
		apart += math.Abs(v-middle) / float64(n)
		mean += v * max(0, min(float64(i+1), to)-max(float64(i), from)) / (to - from)
	}
	// The variance of such a mean is 1.2 to 1.35 of a mean's; of equal values it is not 0.
	deviation := math.Sqrt(math.Pi/2)*apart + 0.02*math.Abs(middle) + 1e-6
	return &group{perCode: s.perCode, value: mean, variance: 1.3 * deviation * deviation / float64(n)}
}

// pricesWithout are what a byte costs to collect, by row: by its group if that has enough blocks,
// else what groups have in common, or 0.
func (c *Costs) pricesWithout(block int) (own []float64) {
	all, seen, common := map[string]*group{}, map[string]*sample{}, 0.0
	for i, r := range c.rows {
		of := cmp.Or(seen[r.Group], &sample{})
		seen[r.Group] = of
		for b := range r.Blocks {
			of.add(b != block, c.garbage(i, b)...)
		}
	}
	for name, of := range seen {
		if own := of.group(false); own != nil {
			all[name] = own
		}
	}
	if len(all) > 0 {
		common = shrink(slices.Collect(maps.Values(all)))
	}
	for _, r := range c.rows {
		own = append(own, max(0, cmp.Or(all[r.Group], &group{shrunk: common}).shrunk))
	}
	return own
}

// garbage is what a byte of the row costs to collect by the batches of a block: what those with
// collections took longer, over the bytes of the cycles.
func (c *Costs) garbage(row, block int) (each []float64) {
	r, b := &c.rows[row], &c.rows[row].Blocks[block]
	// Batches that had fewest stand for the others, unless all had some and there are pieces.
	fewest := slices.Min(append([]float64{math.Inf(1)}, b.Collections...))
	var least []float64
	for i, n := range b.Collections {
		if n == fewest {
			least = append(least, b.CPU[i])
		}
	}
	base := Median(least)
	if fewest > 0 && b.Fast > 0 {
		fewest, base = 0, b.Fast*r.Ops
	}
	for i, n := range b.Collections {
		if n > fewest && b.Cycle > 0 {
			each = append(each, (b.CPU[i]-base)/(n-fewest)/b.Cycle)
		}
	}
	return each
}

// group is a factor of a group of rows, with its variance, and what it is shrunk to.
type group struct{ perCode, value, variance, shrunk float64 }

// shrink finds what the groups have in common, and moves each towards it.
func shrink(groups []*group) (common float64) {
	slices.SortFunc(groups, func(a, b *group) int { return cmp.Compare(a.value, b.value) })
	var values, variances []float64
	for _, g := range groups {
		values, variances = append(values, g.value), append(variances, g.variance)
	}
	_, between := Pooled(values, variances, 0)
	between = max(0, between)
	common, _ = Pooled(values, variances, between)
	for _, g := range groups {
		g.shrunk = common
		if between > 0 {
			g.shrunk = (g.value/g.variance + common/between) / (1/g.variance + 1/between)
		}
	}
	return common
}
