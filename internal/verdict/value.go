package verdict

import (
	"math"

	"gonum.org/v1/gonum/stat"

	"postage/internal/stats"
	"postage/record"
)

// pair is two rows in the blocks that both took part in.
type pair struct {
	row, base       *record.Row
	series, against []*record.Series
	numbers         []int // the blocks' numbers in the case, from 0
	layouts         []int // the function layouts of the blocks' programs
}

func (c *CaseResult) pair(row, base *record.Row) *pair {
	p := &pair{row: row, base: base}
	for i, block := range c.blocks {
		if s, b := block.Of(row.Name), block.Of(base.Name); s != nil && b != nil {
			p.series, p.against = append(p.series, s), append(p.against, b)
			p.numbers, p.layouts = append(p.numbers, i), append(p.layouts, block.Layout)
		}
	}
	return p
}

// values are the block values of the rows' quantity. For costs, a block's value is the logarithm of
// one row's CPU time per operation over the other's.
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

// walls are the block values of wall time: the mean over the rounds of the logarithm of the ratio.
// If one row had more batches than the other, it is the logarithm of the ratio of their means.
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

// wallDiffers is the factor from which a row's ratio of wall time to CPU time counts as different
// from another row's.
const wallDiffers = 1.25

// wallPerCPU is the median over a row's batches of wall time over CPU time. Above 1 the row waits,
// below 1 it works on several processors. It leaves out batches in which a collection began,
// because such a batch ends before its collection does.
func (c *CaseResult) wallPerCPU(row *record.Row) float64 {
	var ratios []float64
	for _, s := range c.Record.SeriesOf(row) {
		for i, cpu := range s.CPUNS {
			if cpu > 0 && (s.Collections == nil || s.Collections[i] == 0) {
				ratios = append(ratios, float64(s.WallNS[i])/float64(cpu))
			}
		}
	}
	if len(ratios) == 0 {
		return 1
	}
	return stats.Median(ratios)
}
