package verdict

import (
	"math"

	"gonum.org/v1/gonum/stat"

	"postage/internal/stats"
	"postage/record"
)

// figured is a case with the blocks that its rows' figures are computed from.
type figured struct {
	rec    *record.Record
	blocks []*record.Block
	rows   []*record.Row
}

func newFigured(rec *record.Record, name string) *figured {
	f := &figured{rec: rec, blocks: rec.BlocksOf(name)}
	for i := range rec.Rows {
		if row := &rec.Rows[i]; row.Case == name {
			f.rows = append(f.rows, row)
		}
	}
	return f
}

// pair is two rows in the blocks that both took part in.
type pair struct {
	row, base       *record.Row
	series, against []*record.Series
	at              []int // the blocks, in the case's
	layouts         []int // of the blocks' programs
}

func (f *figured) pair(row, base *record.Row) *pair {
	p := &pair{row: row, base: base}
	for i, block := range f.blocks {
		if s, b := block.Of(row.Name), block.Of(base.Name); s != nil && b != nil {
			p.series, p.against = append(p.series, s), append(p.against, b)
			p.at, p.layouts = append(p.at, i), append(p.layouts, block.Layout)
		}
	}
	return p
}

// values are the block values of the rows' quantity: of costs, the logarithm of the ratio of sums
// of CPU time over sums of operations.
func (p *pair) values() []float64 {
	if p.base.Value != record.ValueCost {
		return p.walls()
	}
	values := make([]float64, len(p.series))
	for i, s := range p.series {
		values[i] = math.Log(s.CostPerOp(p.row.N) / p.against[i].CostPerOp(p.base.N))
	}
	return values
}

// walls are the block values of wall time: the mean over the rounds of the logarithm of the ratio;
// of contenders that have batches of their own number, the logarithm of the ratio of the means.
func (p *pair) walls() []float64 {
	values := make([]float64, len(p.series))
	for i, s := range p.series {
		a, b := s.NSPerOp(p.row.N), p.against[i].NSPerOp(p.base.N)
		if len(a) == len(b) {
			values[i] = stats.MeanBlockValue(a, b)
		} else {
			values[i] = math.Log(stat.Mean(a, nil) / stat.Mean(b, nil))
		}
	}
	return values
}

// wallApart is by what factor wall time and CPU time must differ to be told.
const wallApart = 1.25

// waits is the wall time of a row's batches over their CPU time, in the middle, without those that
// collect, as they end before their collection does: above 1 the row waits, below it works on
// several processors.
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
