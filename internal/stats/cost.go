package stats

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
	"gonum.org/v1/gonum/floats"
)

// Costed is what a row's batches say of its cost, in the blocks of its case.
type Costed struct {
	// Group names the rows that allocate alike, the same code twice: what a byte costs to collect
	// is one figure for them.
	Group string
	// Bytes that an operation allocates; Ops are the operations of a batch.
	Bytes, Ops float64
	Blocks     []CostedBlock // one a block of the case, empty where the row was not in it
}

// CostedBlock is a row's batches in a block. Times are of CPU, in ns.
type CostedBlock struct {
	Fast        float64   // an operation's in the pieces of batches that nothing disturbed, 0 for none
	Each        []float64 // the same of each batch by itself, nil for none
	CPU         []float64 // a batch's
	Collections []float64 // of garbage, that fell into each batch
	Cycle       float64   // bytes allocated from one collection to the next, 0 if not known
	Plain       float64   // an operation's where the row is let run, 0 if not measured
	Witness     float64   // what a loop of additions took meanwhile
	Least       float64   // and in its fastest tenth, 0 if not known
}

// Costs are what the rows of a case cost.
type Costs struct {
	rows  []Costed
	quiet []float64 // what an operation takes in the fastest tenth of a row's batches, 0 if not known
	plain bool      // whether any was let run
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
//  1. Code is the time of pieces of batches that nothing disturbed, times what an operation takes as
//     usual where rows without garbage are let run. Of an operation too long for pieces, it is
//     what it takes let run less its garbage, or else the mean of the fastest half of a block's
//     batches, less their collections.
//  2. Garbage is the bytes that an operation allocates, which are counted, times what a byte costs:
//     what operations that are let run take longer than their code, at full speed. It is a group's
//     own, shrunk towards the case's by how well both are known (see [Pooled]).
func NewCosts(rows []Costed) *Costs {
	c, blocks, cycles, leasts := &Costs{rows: rows}, 0, []float64(nil), []float64(nil)
	for _, r := range rows {
		var each []float64
		for _, b := range r.Blocks {
			each, cycles, leasts = append(each, b.Each...), append(cycles, b.Cycle), append(leasts, b.Least)
			c.plain = c.plain || b.Plain > 0
		}
		c.quiet = append(c.quiet, FastestTenth(each))
		blocks = max(blocks, len(r.Blocks))
	}
	unknown := func(v float64) bool { return v == 0 }
	c.cycle, c.least = Median(slices.DeleteFunc(cycles, unknown)), FastestTenth(slices.DeleteFunc(leasts, unknown))
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
	levels := make([]float64, len(c.rows[row].Blocks))
	for b := range levels {
		levels[b] = c.level(row, &c.all, c.code(row, b), c.slow(row, b), perByte)
	}
	floats.Add(c.undisturbed(levels, row, row), c.moves(row, perByte))
	return levels
}

// Differences are by how much the logarithms of a row's cost lie above another's, one a block; NaN
// for blocks without both. Where there are pieces, the code of a row is that of the other times the
// block's quotient of the two.
func (c *Costs) Differences(row, other int, perByte, perByteOther *float64) []float64 {
	differences := make([]float64, len(c.rows[row].Blocks))
	for b := range differences {
		code, codeOther, slow := c.code(row, b), c.code(other, b), c.slow(other, b)
		if quotient := c.quotient(row, other, b); !math.IsNaN(quotient) {
			code = codeOther * quotient
		}
		differences[b] = c.level(row, &c.all, code, slow, perByte) - c.level(other, &c.all, codeOther, slow, perByteOther)
	}
	floats.Add(c.undisturbed(differences, row, other), c.moves(row, perByte))
	return floats.SubTo(differences, differences, c.moves(other, perByteOther))
}

// undisturbed has blocks that are disturbed for either row tell how much blocks differ, and no
// more, if enough are not. The values have the mean of the others, and are as far apart as if these
// were all.
func (c *Costs) undisturbed(values []float64, row, other int) []float64 {
	of, disturbed := map[bool][]float64{}, func(b int) bool { return c.disturbed(row, b) || c.disturbed(other, b) }
	for b, v := range values {
		if !math.IsNaN(v) {
			of[disturbed(b)] = append(of[disturbed(b)], v)
		}
	}
	if len(of[false]) < fewestBlocks || len(of[true]) == 0 {
		return values
	}
	means, n := map[bool]float64{true: stats.Mean(of[true]), false: stats.Mean(of[false])}, float64(len(of[false])+len(of[true]))
	wider := math.Sqrt(n / float64(len(of[false])) * (n - 1) / (n - 2)) // as two means were taken
	for b, v := range values {
		values[b] = means[false] + wider*(v-means[disturbed(b)])
	}
	return values
}

// disturbed is a block that was slowed throughout, which slows one kind of work more than another,
// or of which there are only whole batches, which hide it.
func (c *Costs) disturbed(row, block int) bool {
	b := &c.rows[row].Blocks[block]
	return c.slow(row, block) > slowed || b.Fast == 0 && b.Plain == 0
}

// slowed is how many times as long as its fastest tenth a batch takes where its processor is slower
// for a while; so many rounds or blocks without that are enough.
const slowed, fewestQuiet, fewestBlocks = 1.1, 2, 2

// quotient is what a row's code takes as a multiple of another's, by the rounds of a block; NaN
// where it is not timed in pieces. It is the median of the rounds in which neither was slowed: what
// slows a processor for a while slows the batches of a round. If those are too few, either's
// batches that were not slowed are taken by themselves, or all rounds if one has none.
func (c *Costs) quotient(row, other, block int) float64 {
	each, others := c.rows[row].Blocks[block].Each, c.rows[other].Blocks[block].Each
	if len(each) == 0 || len(each) != len(others) {
		return math.NaN()
	}
	var all, quiet, own, its []float64
	for i, v := range each {
		all = append(all, v/others[i])
		if v < slowed*c.quiet[row] {
			own = append(own, v)
		}
		if others[i] < slowed*c.quiet[other] {
			its = append(its, others[i])
			if v < slowed*c.quiet[row] {
				quiet = append(quiet, all[i])
			}
		}
	}
	switch {
	case len(quiet) >= fewestQuiet:
		return Median(quiet)
	case len(own) > 0 && len(its) > 0:
		return Median(own) / Median(its)
	}
	return Median(all)
}

// moves are by how much each block moves a row's level by the factors (jackknife); they sum to
// zero. An error of a factor is common to all blocks, and an interval made of the spread of their
// codes would not cover it, so each level includes its block's.
func (c *Costs) moves(row int, perByte *float64) []float64 {
	blocks := c.rows[row].Blocks
	moves, present, sum := make([]float64, len(blocks)), 0.0, 0.0
	for b := range blocks {
		if code := c.code(row, b); !math.IsNaN(code) {
			slow := c.slow(row, b)
			moves[b] = c.level(row, &c.all, code, slow, perByte) - c.level(row, &c.moved[b], code, slow, perByte)
			present, sum = present+1, sum+moves[b]
		}
	}
	for b := range moves {
		moves[b] = (present - 1) * (moves[b] - sum/present)
	}
	return moves
}

// level is the logarithm of what an operation of a row costs by the factors, whose code takes so
// long in a block that was so many times slowed.
func (c *Costs) level(row int, by *factors, code, slow float64, perByte *float64) float64 {
	return math.Log(by.usual[row]*code + slow**cmp.Or(perByte, &by.prices[row])*c.rows[row].Bytes)
}

// slow is by how much a block was slowed by the row's code, 1 if it has no pieces.
func (c *Costs) slow(row, block int) float64 {
	fast := cmp.Or(c.rows[row].Blocks[block].Fast, c.quiet[row], 1)
	return fast / cmp.Or(c.quiet[row], fast)
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

// UsualPower is that of what additions take by which other code, which uses memory, is slowed.
const UsualPower = 0.65

// powersWithout are, of all blocks but one, the slopes of the logarithm of what an operation takes
// let run by that of what the witness takes, within each row. A row's is shrunk towards the case's,
// and that towards what is usual, as if they were known from so much variance.
func (c *Costs) powersWithout(block int) (powers []float64) {
	const known, knownCase = 0.2, 0.02
	own, all := [][2]float64(nil), [2]float64{UsualPower * knownCase, knownCase}
	for i, r := range c.rows {
		var n, x, y, xx, xy float64
		for b, of := range r.Blocks {
			if b != block && of.Plain > 0 {
				at, ns := c.witnessed(i, b), math.Log(of.Plain)
				n, x, y, xx, xy = n+1, x+at, y+ns, xx+at*at, xy+at*ns
			}
		}
		sums := [2]float64{xy - x*y/max(1, n), xx - x*x/max(1, n)}
		own, all = append(own, sums), [2]float64{all[0] + sums[0], all[1] + sums[1]}
	}
	for _, sums := range own {
		powers = append(powers, (sums[0]+known*all[0]/all[1])/(sums[1]+known))
	}
	return powers
}

// code is what an operation's code takes in a block; NaN without batches.
func (c *Costs) code(row, block int) float64 {
	b := &c.rows[row].Blocks[block]
	if b.Fast == 0 && b.Plain > 0 {
		return max((c.atFullSpeed(b.Plain, row, block, &c.all)-c.Price(row)*c.Bytes(row))/c.all.usual[row], 1e-3)
	}
	return cmp.Or(b.Fast, fastest(c.left(row, block), 0.5)/c.rows[row].Ops)
}

// FastestTenth is what a tenth of the values are below, 0 for none.
func FastestTenth(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(values))[len(values)/10]
}

// fastest is the mean of the fastest share of the values, NaN for none.
func fastest(values []float64, share float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return stats.Mean(sorted[:max(1, int(math.Round(share*float64(len(sorted)))))])
}

// factorsWithout are those of all blocks but one. What is usual is a row's own without garbage;
// else it is that of the case's rows without, or its own if that is less.
func (c *Costs) factorsWithout(block int) factors {
	f, none := factors{powers: c.powersWithout(block)}, sample{}
	each := make([]sample, len(c.rows))
	for i, r := range c.rows {
		for b, of := range r.Blocks {
			if of.Fast > 0 && of.Plain > 0 {
				each[i].add(b != block, max(1, c.atFullSpeed(of.Plain, i, b, &f)/cmp.Or(c.quiet[i], of.Fast)))
			}
		}
		if r.Bytes < 1 {
			none.values, none.all = append(none.values, each[i].values...), none.all+each[i].all
		}
	}
	common := cmp.Or(none.group(true), &group{value: 1})
	for i, r := range c.rows {
		usual := cmp.Or(each[i].group(true), common).value
		if r.Bytes >= 1 { // garbage is part of it
			usual = min(usual, common.value)
		}
		if !slices.ContainsFunc(r.Blocks, func(b CostedBlock) bool { return b.Fast > 0 }) {
			usual = 1 // whole batches are usual ones
		}
		f.usual = append(f.usual, usual)
	}
	f.prices = c.pricesWithout(block, &f)
	return f
}

// sample is what all blocks say of a factor, or all but one: there are as many of all.
type sample struct {
	values []float64
	all    int
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
	return &group{value: mean, variance: 1.3 * deviation * deviation / float64(n)}
}

// pricesWithout are what a byte costs to collect, by row: by its group if that has enough blocks,
// else what groups have in common, or 0.
func (c *Costs) pricesWithout(block int, by *factors) (own []float64) {
	all, seen, common := map[string]*group{}, map[string]*sample{}, 0.0
	for i, r := range c.rows {
		of := cmp.Or(seen[r.Group], &sample{})
		seen[r.Group] = of
		for b := range r.Blocks {
			of.add(b != block, c.garbage(i, b, by)...)
		}
	}
	for name, of := range seen {
		if own := of.group(c.plain); own != nil {
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

// garbage is what a byte of the row costs to collect by a block: what an operation took longer than
// its code where it was let run. Where no row was it is, by batch, what those with collections took
// longer, over the bytes of the cycles.
func (c *Costs) garbage(row, block int, by *factors) (each []float64) {
	r, b := &c.rows[row], &c.rows[row].Blocks[block]
	// Batches that had fewest stand for the others, unless all had some and there are pieces.
	fewest := slices.Min(append([]float64{math.Inf(1)}, b.Collections...))
	var least []float64
	for i, n := range b.Collections {
		if n == fewest {
			least = append(least, b.CPU[i])
		}
	}
	if c.plain {
		switch quiet := cmp.Or(c.quiet[row], b.Fast); {
		case b.Plain == 0 || r.Bytes < 1:
			return nil
		case quiet > 0:
			return []float64{(c.atFullSpeed(b.Plain, row, block, by) - by.usual[row]*quiet) / r.Bytes}
		}
		return []float64{c.atFullSpeed(b.Plain-fastest(least, 0.5)/r.Ops, row, block, by) / r.Bytes} // both are slowed
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
type group struct{ value, variance, shrunk float64 }

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
