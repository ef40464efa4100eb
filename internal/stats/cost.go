package stats

import (
	"cmp"
	"math"
	"slices"
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
}

// Costs are what the rows of a case cost.
type Costs struct {
	rows   []Costed
	quiet  []float64   // what an operation takes in the fastest tenth of a row's batches, 0 if not known
	prices []float64   // of all blocks, by row
	moved  [][]float64 // of all but one block, by that block and row
}

// NewCosts finds what the rows of a case cost. It is two parts, each by what measures it best:
//
//  1. Code is the time of pieces of batches that nothing disturbed. Where an operation is too long
//     for pieces, it is the mean of the fastest half of a block's batches, less their collections.
//  2. Garbage is the bytes that an operation allocates, which are counted, times what a byte costs
//     to collect. A collection costs what its batch took longer than its code, and comes after as
//     many bytes as a cycle has. Each group of rows has a price of its own, the median over its
//     collections, shrunk towards the case's by how well either is known (see [Pooled]).
func NewCosts(rows []Costed) *Costs {
	c, blocks := &Costs{rows: rows}, 0
	for i := range rows {
		var each []float64
		for _, b := range rows[i].Blocks {
			each = append(each, b.Each...)
		}
		slices.Sort(each)
		quiet := 0.0
		if len(each) > 0 {
			quiet = each[len(each)/10]
		}
		c.quiet, blocks = append(c.quiet, quiet), max(blocks, len(rows[i].Blocks))
	}
	c.prices = c.pricesWithout(-1)
	for b := range blocks {
		c.moved = append(c.moved, c.pricesWithout(b))
	}
	return c
}

// Price is what a byte that the row allocates costs to collect, in ns.
func (c *Costs) Price(row int) float64 { return c.prices[row] }

// Bytes are what an operation of the row allocates.
func (c *Costs) Bytes(row int) float64 { return c.rows[row].Bytes }

// Levels are the logarithms of what an operation of a row costs, in ns, one a block; NaN for blocks
// without the row. perByte, if not nil, takes the place of the row's price.
func (c *Costs) Levels(row int, perByte *float64) []float64 {
	moves, levels := c.moves(row), make([]float64, len(c.rows[row].Blocks))
	for b := range levels {
		levels[b] = c.level(row, b, c.code(row, b), moves, perByte)
	}
	return levels
}

// Differences are by how much the logarithms of a row's cost lie above another's, one a block; NaN
// for blocks without both. Where there are pieces, the code of a row is that of the other times the
// block's quotient of the two.
func (c *Costs) Differences(row, other int, perByte, perByteOther *float64) []float64 {
	moves, movesOther := c.moves(row), c.moves(other)
	differences := make([]float64, len(c.rows[row].Blocks))
	for b := range differences {
		code, codeOther := c.code(row, b), c.code(other, b)
		if quotient := c.quotient(row, other, b); !math.IsNaN(quotient) {
			code = codeOther * quotient
		}
		differences[b] = c.level(row, b, code, moves, perByte) - c.level(other, b, codeOther, movesOther, perByteOther)
	}
	return differences
}

// slowed is how many times as long as its fastest tenth a batch takes where its processor is slower
// for a while; fewestQuiet rounds without that are enough.
const (
	slowed      = 1.1
	fewestQuiet = 2
)

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

// moves are by how much each block moves the row's price (jackknife); they sum to zero. An error of
// the price is common to all blocks, and an interval made of the spread of their codes would not
// cover it, so each level includes its block's.
func (c *Costs) moves(row int) []float64 {
	r := &c.rows[row]
	moves := make([]float64, len(r.Blocks))
	present, sum := 0.0, 0.0
	for b := range r.Blocks {
		if len(r.Blocks[b].CPU) > 0 {
			moves[b] = c.Price(row) - c.moved[b][row]
			present, sum = present+1, sum+moves[b]
		}
	}
	for b := range moves {
		moves[b] = (present - 1) * (moves[b] - sum/present)
	}
	return moves
}

// level is the logarithm of what an operation of a row costs, whose code takes so long.
func (c *Costs) level(row, block int, code float64, moves []float64, perByte *float64) float64 {
	bytes := c.rows[row].Bytes
	if perByte != nil {
		return math.Log(code + *perByte*bytes)
	}
	value := code + c.Price(row)*bytes
	return math.Log(value) + moves[block]*bytes/value
}

// Means are the logarithms of the mean CPU time of all batches, their collections at the row's
// rate, one a block: what no piece may leave out.
func (c *Costs) Means(row int) []float64 {
	r := &c.rows[row]
	means := make([]float64, len(r.Blocks))
	for b, block := range r.Blocks {
		var all float64
		for i, cpu := range block.CPU {
			all += cpu - c.collected(row, b, i)
		}
		means[b] = math.Log(max(all/float64(len(block.CPU))/r.Ops, 1e-3) + c.Price(row)*r.Bytes)
	}
	return means
}

// collected is what the collections of a batch cost, at most most of it.
func (c *Costs) collected(row, block, batch int) float64 {
	b := &c.rows[row].Blocks[block]
	if b.Collections == nil {
		return 0
	}
	return min(b.Collections[batch]*c.Price(row)*b.Cycle, 0.9*b.CPU[batch])
}

// code is what an operation's code takes in a block; NaN without batches.
func (c *Costs) code(row, block int) float64 {
	b := &c.rows[row].Blocks[block]
	if b.Fast > 0 {
		return b.Fast
	}
	left := make([]float64, len(b.CPU))
	for i, cpu := range b.CPU {
		left[i] = cpu - c.collected(row, block, i)
	}
	return fastest(left, 0.5) / c.rows[row].Ops
}

// fastest is the mean of the fastest share of the values, NaN for none.
func fastest(values []float64, share float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted, sum := slices.Sorted(slices.Values(values)), 0.0
	n := max(1, int(math.Round(share*float64(len(sorted)))))
	for _, v := range sorted[:n] {
		sum += v
	}
	return sum / float64(n)
}

// pricesWithout are what a byte costs to collect, by row, but for what the block says: of the
// batches that were not slowed, or of all where those have too few collections.
func (c *Costs) pricesWithout(block int) []float64 {
	groups, all := c.groups(block, slowed)
	if len(all) == 0 {
		groups, all = c.groups(block, math.Inf(1))
	}
	common := shrink(all)
	own := make([]float64, len(c.rows))
	for i := range own {
		own[i] = common
		if g := groups[c.rows[i].Group]; g != nil {
			own[i] = g.shrunk
		}
		own[i] = max(0, own[i])
	}
	return own
}

// groups are the prices of the groups of rows that have enough collections, by the batches that
// were slowed less than so many times.
func (c *Costs) groups(without int, slowed float64) (byName map[string]*group, all []*group) {
	seen := map[string][]float64{}
	for i := range c.rows {
		for b := range c.rows[i].Blocks {
			if b != without {
				name := c.rows[i].Group
				seen[name] = append(seen[name], c.collections(i, b, slowed)...)
			}
		}
	}
	byName = map[string]*group{}
	for name, values := range seen {
		if len(values) >= fewestCollections {
			byName[name] = newGroup(values)
			all = append(all, byName[name])
		}
	}
	return byName, all
}

// fewestCollections give a group a price of its own.
const fewestCollections = 4

// collections are what the row's collections in a block cost a byte, by batch: what the batch took
// longer than others in that block, over the bytes of as many cycles. A batch whose pieces were all
// slowed is taken for as much shorter, and left out if that is so many times.
func (c *Costs) collections(row, block int, slowed float64) []float64 {
	r := &c.rows[row]
	b := &r.Blocks[block]
	if b.Cycle <= 0 || b.Collections == nil {
		return nil
	}
	times, fast, slow := b.CPU, b.Fast, make([]float64, len(b.CPU))
	if len(b.Each) == len(times) {
		times, fast = slices.Clone(times), c.quiet[row]
		for i, each := range b.Each {
			slow[i] = each / fast
			times[i] /= slow[i]
		}
	}
	// Batches that had fewest stand for the others, unless all had some and there are pieces.
	fewest := slices.Min(append([]float64{math.Inf(1)}, b.Collections...))
	var least []float64
	for i, cpu := range times {
		if b.Collections[i] == fewest {
			least = append(least, cpu)
		}
	}
	base := Median(least)
	if fewest > 0 && fast > 0 {
		fewest, base = 0, fast*r.Ops
	}
	var each []float64
	for i, cpu := range times {
		if more := b.Collections[i] - fewest; more > 0 && slow[i] < slowed {
			each = append(each, (cpu-base)/more/b.Cycle)
		}
	}
	return each
}

// group is the price of a group of rows: the median of its collections', with the variance of that,
// and what it is shrunk to.
type group struct{ value, variance, shrunk float64 }

func newGroup(values []float64) *group {
	middle := Median(values)
	apart := make([]float64, len(values))
	for i, v := range values {
		apart[i] = math.Abs(v - middle)
	}
	// The variance of a median is π/2 of a mean's; of equal values it is not 0.
	deviation := 1.4826*Median(apart) + 0.02*math.Abs(middle) + 1e-6
	return &group{value: middle, variance: math.Pi / 2 * deviation * deviation / float64(len(values))}
}

// shrink finds the price that the groups have in common, 0 if there is none, and moves each towards
// it.
func shrink(groups []*group) (common float64) {
	if len(groups) == 0 {
		return 0
	}
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
