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
	CPU         []float64 // a batch's
	Collections []float64 // of garbage, that fell into each batch
	Cycle       float64   // bytes allocated from one collection to the next, 0 if not known
}

// Costs are what the rows of a case cost.
type Costs struct {
	rows   []Costed
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
	c := &Costs{rows: rows, prices: prices(rows, -1)}
	blocks := 0
	for i := range rows {
		blocks = max(blocks, len(rows[i].Blocks))
	}
	for b := range blocks {
		c.moved = append(c.moved, prices(rows, b))
	}
	return c
}

// Price is what a byte that the row allocates costs to collect, in ns.
func (c *Costs) Price(row int) float64 { return c.prices[row] }

// Bytes are what an operation of the row allocates.
func (c *Costs) Bytes(row int) float64 { return c.rows[row].Bytes }

// Levels are the logarithms of what an operation of a row costs, in ns, one a block; NaN for blocks
// without the row. perByte, if not nil, takes the place of the row's price.
//
// An error of the price is common to all blocks, and an interval made of their spread would not
// cover it. So each level includes by how much its block moves the price (jackknife); these sum to
// zero.
func (c *Costs) Levels(row int, perByte *float64) []float64 {
	r := &c.rows[row]
	levels, influence := make([]float64, len(r.Blocks)), make([]float64, len(r.Blocks))
	at, present, sum := c.Price(row), 0.0, 0.0
	for b := range r.Blocks {
		if len(r.Blocks[b].CPU) > 0 {
			present++
		}
	}
	for b := range r.Blocks {
		if len(r.Blocks[b].CPU) > 0 {
			influence[b] = (present - 1) * (at - c.moved[b][row])
			sum += influence[b] / present
		}
	}
	if perByte != nil {
		at = *perByte
	}
	for b := range r.Blocks {
		code := c.code(row, b)
		value := code + at*r.Bytes
		levels[b] = math.Log(value)
		if perByte == nil {
			levels[b] += (influence[b] - sum) * r.Bytes / value
		}
	}
	return levels
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

// prices are what a byte costs to collect, by row, but for what the block without says.
func prices(rows []Costed, without int) []float64 {
	seen := map[string][]float64{}
	for i := range rows {
		for b := range rows[i].Blocks {
			if b != without {
				seen[rows[i].Group] = append(seen[rows[i].Group], rows[i].collections(b)...)
			}
		}
	}
	groups := map[string]*group{}
	var all []*group
	for name, values := range seen {
		if len(values) >= fewestCollections {
			groups[name] = newGroup(values)
			all = append(all, groups[name])
		}
	}
	common := shrink(all)
	own := make([]float64, len(rows))
	for i := range rows {
		own[i] = common
		if g := groups[rows[i].Group]; g != nil {
			own[i] = g.shrunk
		}
		own[i] = max(0, own[i])
	}
	return own
}

// fewestCollections give a group a price of its own.
const fewestCollections = 4

// collections are what the row's collections in a block cost a byte, by batch: what the batch took
// longer than others in that block, over the bytes of as many cycles.
func (r *Costed) collections(block int) []float64 {
	b := &r.Blocks[block]
	if b.Cycle <= 0 || b.Collections == nil {
		return nil
	}
	// Batches that had fewest stand for the others, unless all had some and there are pieces.
	fewest := slices.Min(append([]float64{math.Inf(1)}, b.Collections...))
	var least []float64
	for i, cpu := range b.CPU {
		if b.Collections[i] == fewest {
			least = append(least, cpu)
		}
	}
	base := Median(least)
	if fewest > 0 && b.Fast > 0 {
		fewest, base = 0, b.Fast*r.Ops
	}
	var each []float64
	for i, cpu := range b.CPU {
		if more := b.Collections[i] - fewest; more > 0 {
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
	// The variance of a median is π/2 of a mean's.
	deviation := 1.4826*Median(apart) + 0.02*math.Abs(middle)
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
