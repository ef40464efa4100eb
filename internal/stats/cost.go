package stats

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
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
}

// Costs are what the rows of a case cost.
type Costs struct {
	rows   []Costed
	quiet  []float64 // what an operation takes in the fastest tenth of a row's batches, 0 if not known
	best   []float64 // what the witness took in a tenth of where a row was let run, 0 if nowhere
	letRun bool      // some rows were
	cycle  float64   // in the middle, NaN if not known
	all    factors   // of all blocks
	moved  []factors // of all but one, by that block
}

// factors make a cost of what is measured, by row: what an operation takes let run without garbage,
// as a multiple of its code in pieces, and what a byte costs to collect.
type factors struct{ usual, prices []float64 }

// NewCosts finds what the rows of a case cost. It is two parts, each by what measures it best:
//
//  1. Code is the time of pieces of batches that nothing disturbed, times what an operation takes as
//     usual where rows without garbage are let run. Of an operation too long for pieces, it is the
//     mean of the fastest half of a block's batches, less their collections.
//  2. Garbage is the bytes that an operation allocates, which are counted, times what a byte costs:
//     what operations that are let run take longer than their code. It is a group's own, shrunk
//     towards the case's by how well both are known (see [Pooled]).
func NewCosts(rows []Costed) *Costs {
	c, blocks, cycles := &Costs{rows: rows}, 0, []float64(nil)
	for _, r := range rows {
		var each, witnesses []float64
		for _, b := range r.Blocks {
			each = append(each, b.Each...)
			if b.Cycle > 0 {
				cycles = append(cycles, b.Cycle)
			}
			if b.Plain > 0 {
				witnesses = append(witnesses, b.Witness)
			}
		}
		c.quiet, c.best = append(c.quiet, FastestTenth(each)), append(c.best, FastestTenth(witnesses))
		c.letRun, blocks = c.letRun || len(witnesses) > 0, max(blocks, len(r.Blocks))
	}
	c.cycle, c.all = Median(cycles), c.factorsWithout(-1)
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
	moves, levels := c.moves(row, perByte), make([]float64, len(c.rows[row].Blocks))
	for b := range levels {
		levels[b] = c.level(row, &c.all, c.code(row, b), c.slow(row, b), perByte) + moves[b]
	}
	return levels
}

// Differences are by how much the logarithms of a row's cost lie above another's, one a block; NaN
// for blocks without both. Where there are pieces, the code of a row is that of the other times the
// block's quotient of the two.
func (c *Costs) Differences(row, other int, perByte, perByteOther *float64) []float64 {
	moves, movesOther := c.moves(row, perByte), c.moves(other, perByteOther)
	differences := make([]float64, len(c.rows[row].Blocks))
	for b := range differences {
		code, codeOther := c.code(row, b), c.code(other, b)
		if quotient := c.quotient(row, other, b); !math.IsNaN(quotient) {
			code = codeOther * quotient
		}
		slow := c.slow(other, b)
		differences[b] = c.level(row, &c.all, code, slow, perByte) + moves[b] - c.level(other, &c.all, codeOther, slow, perByteOther) - movesOther[b]
	}
	return differences
}

// slowed is how many times as long as its fastest tenth a batch takes where its processor is slower
// for a while, and Witnessed a loop of additions; fewestQuiet rounds without that are enough.
const (
	slowed, Witnessed = 1.1, 1.25
	fewestQuiet       = 2
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

// slow is by how much a block was slowed, if it was, by the row's code.
func (c *Costs) slow(row, block int) float64 {
	fast := c.rows[row].Blocks[block].Fast
	if times := fast / cmp.Or(c.quiet[row], fast); times > slowed { // not without pieces: 0/0
		return times
	}
	return 1
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
	if b.Collections == nil || math.IsNaN(c.cycle) {
		return 0
	}
	return min(b.Collections[batch]*c.Price(row)*c.cycle, 0.9*b.CPU[batch])
}

// alike is whether a row was slowed in a block where it was let run if it was in its batches.
func (c *Costs) alike(row, block int) bool {
	b := &c.rows[row].Blocks[block]
	return b.Plain > 0 && (b.Witness > Witnessed*c.best[row]) == (c.slow(row, block) > 1)
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

// factorsWithout are those of all blocks but one. What is usual is a row's own without garbage; with
// it, it is that of the case's rows without, which some take more than others.
func (c *Costs) factorsWithout(block int) factors {
	var f factors
	var none []float64
	middle := func(values []float64, otherwise float64) float64 {
		if enough(values, block) {
			return newGroup(slices.Clone(values)).value
		}
		return otherwise
	}
	each := make([][]float64, len(c.rows))
	for i, r := range c.rows {
		for b, of := range r.Blocks {
			if b != block && of.Fast > 0 && c.alike(i, b) {
				each[i] = append(each[i], of.Plain/of.Fast)
			}
		}
		if r.Bytes < 1 {
			none = append(none, each[i]...)
		}
	}
	common := middle(none, 1)
	for i, r := range c.rows {
		usual := middle(each[i], common)
		if r.Bytes >= 1 { // garbage is part of that
			usual = min(usual, common)
		}
		if !slices.ContainsFunc(r.Blocks, func(b CostedBlock) bool { return b.Fast > 0 }) {
			usual = 1 // whole batches are usual ones
		}
		f.usual = append(f.usual, usual)
	}
	f.prices = c.pricesWithout(block, &f)
	return f
}

// enough says whether values make a factor of all blocks but one; what has one of all has that.
func enough(values []float64, without int) bool {
	return len(values) > 2 || len(values) == 2 && without >= 0
}

// pricesWithout are what a byte costs to collect, by row: by those blocks of its group in which it
// was slowed alike throughout if they are enough, or by all; else what groups have in common, or 0.
func (c *Costs) pricesWithout(block int, by *factors) (own []float64) {
	all, common := map[string]*group{}, 0.0
	for _, alike := range []bool{true, false} {
		seen := map[string][]float64{}
		for i, r := range c.rows {
			for b := range r.Blocks {
				if b != block && all[r.Group] == nil {
					seen[r.Group] = append(seen[r.Group], c.garbage(i, b, alike, by)...)
				}
			}
		}
		for name, values := range seen {
			if enough(values, block) {
				all[name] = newGroup(values)
			}
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
func (c *Costs) garbage(row, block int, alike bool, by *factors) (each []float64) {
	r, b := &c.rows[row], &c.rows[row].Blocks[block]
	// Batches that had fewest stand for the others, unless all had some and there are pieces.
	fewest := slices.Min(append([]float64{math.Inf(1)}, b.Collections...))
	var least []float64
	for i, n := range b.Collections {
		if n == fewest {
			least = append(least, b.CPU[i])
		}
	}
	if c.letRun {
		if b.Plain > 0 && r.Bytes >= 1 && (c.alike(row, block) || !alike) {
			code := cmp.Or(b.Fast, fastest(least, 0.5)/r.Ops)
			each = append(each, (b.Plain-by.usual[row]*code)/c.slow(row, block)/r.Bytes)
		}
		return each
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

// group is a factor of a group of rows: the mean of the middle half of its values, with the
// variance of that, and what it is shrunk to.
type group struct{ value, variance, shrunk float64 }

func newGroup(values []float64) *group {
	middle := Median(values)
	apart := make([]float64, len(values))
	for i, v := range values {
		apart[i] = math.Abs(v - middle)
	}
	slices.Sort(values)
	value := stats.Mean(values[len(values)/4 : len(values)-len(values)/4])
	// The variance of such a mean is about 1.2 of a mean's; of equal values it is not 0.
	deviation := 1.4826*Median(apart) + 0.02*math.Abs(middle) + 1e-6
	return &group{value: value, variance: 1.2 * deviation * deviation / float64(len(values))}
}

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
