package verdict

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"postage/internal/stats"
	"postage/record"
)

// figured is a case as its rows' quantities are computed from its blocks.
type figured struct {
	rec    *record.Record
	blocks []*record.Block
	costs  *stats.Costs
	place  map[string]int // of a row in costs
	rows   []*record.Row
}

func newFigured(rec *record.Record, name string) *figured {
	f := &figured{rec: rec, blocks: rec.BlocksOf(name), place: map[string]int{}}
	baseline := ""
	for i := range rec.Rows {
		if row := &rec.Rows[i]; row.Case == name {
			f.place[row.Name], f.rows = len(f.rows), append(f.rows, row)
			if row.Role == record.RoleBaseline && row.OldOf == "" {
				baseline = row.Name
			}
		}
	}
	var rows []stats.Costed
	for _, row := range f.rows {
		group := cmp.Or(row.OldOf, row.Name)
		if row.Role == record.RoleControl {
			group = baseline
		}
		rows = append(rows, costed(row, group, f.blocks))
	}
	f.costs = stats.NewCosts(rows)
	return f
}

// costed is what the blocks say of a row's cost.
func costed(row *record.Row, group string, blocks []*record.Block) stats.Costed {
	c := stats.Costed{Group: group, Ops: float64(max(1, row.N)), Blocks: make([]stats.CostedBlock, len(blocks))}
	if row.OldOf != "" {
		c.Code = row.Name
	}
	var bytes, objects []float64
	for i, block := range blocks {
		s := block.Of(row.Name)
		if s == nil || row.Value != record.ValueCost {
			continue
		}
		b := stats.CostedBlock{Fast: float64(s.FastNS) / c.Ops, Cycle: float64(s.CollectionBytes), Plain: s.PlainNS, Witness: s.WitnessNS, Least: s.WitnessLeastNS, Parts: stats.Slope{Products: s.SlowedProducts, Squares: s.SlowedSquares}}
		for _, ns := range s.FastEachNS {
			b.Each = append(b.Each, float64(ns)/c.Ops)
		}
		for j, ns := range s.WallNS {
			if j < len(s.CPUNS) && s.CPUNS[j] > 0 {
				ns = s.CPUNS[j] // else wall time stands for it
			}
			b.CPU = append(b.CPU, float64(ns))
			if s.Collections != nil {
				b.Collections = append(b.Collections, float64(s.Collections[j]))
			}
			bytes, objects = append(bytes, float64(s.Bytes[j])/c.Ops), append(objects, float64(s.Allocs[j])/c.Ops)
		}
		c.Blocks[i] = b
	}
	if len(bytes) > 0 {
		c.Bytes, c.Objects = stats.Median(bytes), stats.Median(objects)
	}
	return c
}

// price is what a byte that the row allocates costs to collect, in ns, in the world that the record
// is priced for.
func (f *figured) price(row *record.Row) float64 {
	own := f.costs.Price(f.place[row.Name])
	if f.rec.Priced != nil {
		return f.rec.Priced.Of(own, f.rec.Run.World)
	}
	return own
}

// otherPrice is the row's price in the world that the record is priced for, nil for its own.
func (f *figured) otherPrice(row *record.Row) *float64 {
	if f.rec.Priced == nil {
		return nil
	}
	return new(f.price(row))
}

// pair is two rows in the blocks that both took part in.
type pair struct {
	*figured
	row, base       *record.Row
	series, against []*record.Series
	at              []int // the blocks, in the case's
	layouts         []int // of the blocks' programs
}

func (f *figured) pair(row, base *record.Row) *pair {
	p := &pair{figured: f, row: row, base: base}
	for i, block := range f.blocks {
		if s, b := block.Of(row.Name), block.Of(base.Name); s != nil && b != nil && len(s.WallNS) == len(b.WallNS) {
			p.series, p.against = append(p.series, s), append(p.against, b)
			p.at, p.layouts = append(p.at, i), append(p.layouts, block.Layout)
		}
	}
	return p
}

// wallApart is by what factor wall time and CPU time must differ to be told.
const wallApart = 1.25

// waits is the wall time of a row's batches over their CPU time, in the middle, without those that
// collect: above 1 the row waits, below it works on several processors.
func (f *figured) waits(row *record.Row) float64 {
	var each []float64
	for _, block := range f.blocks {
		s := block.Of(row.Name)
		for i := 0; s != nil && i < len(s.CPUNS); i++ {
			if s.CPUNS[i] > 0 && (s.Collections == nil || s.Collections[i] == 0) {
				each = append(each, float64(s.WallNS[i])/float64(s.CPUNS[i]))
			}
		}
	}
	if len(each) == 0 {
		return 1
	}
	return stats.Median(each)
}

// values are the block values of the rows' quantity.
func (p *pair) values() []float64 {
	if p.base.Value != record.ValueCost {
		return p.walls()
	}
	return p.both(p.costs.Differences(p.place[p.row.Name], p.place[p.base.Name], p.otherPrice(p.row), p.otherPrice(p.base)))
}

// means are the block values of the mean CPU time.
func (p *pair) means() []float64 {
	values := p.costs.Means(p.place[p.row.Name])
	return p.both(floats.SubTo(values, values, p.costs.Means(p.place[p.base.Name])))
}

// walls are the block values of wall time: the mean over the rounds of the logarithm of the ratio.
func (p *pair) walls() []float64 {
	values := make([]float64, len(p.series))
	for i, s := range p.series {
		values[i] = stats.MeanBlockValue(s.NSPerOp(p.row.N), p.against[i].NSPerOp(p.base.N))
	}
	return values
}

// both are the values of the blocks that have both rows.
func (p *pair) both(values []float64) []float64 {
	of := make([]float64, 0, len(p.at))
	for _, i := range p.at {
		of = append(of, values[i])
	}
	return of
}

// compare is the ratio of two rows, as a second run would find it.
func (p *pair) compare(values []float64) Comparison {
	return Compare(values, p.rec.Run.Between)
}

// contradicts reports whether the mean CPU time over all batches does not support a verdict of
// costs: it gives no verdict in that direction, and its interval and the ratio's have nothing in
// common. Of noise alone it says nothing: its interval is several times as wide.
func contradicts(mean, ratio Comparison, v Verdict, margin float64) bool {
	if v != Faster && v != Slower || Decide(mean, margin) == v {
		return false
	}
	return mean.Low > ratio.High || mean.High < ratio.Low
}

// worse is the one of a row's tests that a gate goes by: that of its cost, or of its mean CPU time
// or wall time where only that is entirely beyond the threshold. As it is one of several tests, its
// p-value is multiplied by their number.
func worse(cost stats.Shift, others []stats.Shift, threshold float64) stats.Shift {
	for _, other := range others {
		if other.Low >= threshold && cost.Low < threshold {
			other.P = min(1, float64(1+len(others))*other.P)
			return other
		}
	}
	return cost
}

// finite are the values that are numbers.
func finite(values []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}
