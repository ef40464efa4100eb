package verdict

import (
	"math"
	"slices"

	"postage/record"
	"postage/stats"
)

// BlockValues are the logarithms of the times of a row as multiples of another's, one for
// each of the blocks that have both: what that is of a block's batches, see [record.Value].
func BlockValues(blocks []*record.Block, row, base *record.Row) []float64 {
	p := newPair(blocks, row, base)
	return p.values(base.Value)
}

// pair is two rows in the blocks that both took part in.
type pair struct {
	row, base       *record.Row
	series, against []*record.Series
	layouts         []int // of the blocks' programs
	blocks          []*record.Block
}

func newPair(blocks []*record.Block, row, base *record.Row) pair {
	p := pair{row: row, base: base}
	for _, block := range blocks {
		if s, b := block.Of(row.Name), block.Of(base.Name); s != nil && b != nil && len(s.WallNS) == len(b.WallNS) {
			p.series, p.against, p.layouts = append(p.series, s), append(p.against, b), append(p.layouts, block.Layout)
			p.blocks = append(p.blocks, block)
		}
	}
	return p
}

// values are the block values of a kind. Where CPU time is not known, it is wall time.
func (p *pair) values(kind record.Value) []float64 {
	if kind.IsFast() {
		fast, _ := p.levels(kind)
		return fast
	}
	values := make([]float64, len(p.series))
	for i, s := range p.series {
		t, base := s.NSPerOp(p.row.N), p.against[i].NSPerOp(p.base.N)
		if kind == record.ValueMeanWall {
			values[i] = stats.MeanBlockValue(t, base)
		} else {
			values[i] = stats.BlockValue(t, base)
		}
	}
	return values
}

// means are the block values of the means over all batches.
func (p *pair) means(kind record.Value) []float64 {
	_, mean := p.levels(kind)
	return mean
}

// levels are the block values of a kind of the fast batches, and those of all batches.
func (p *pair) levels(kind record.Value) (fast, mean []float64) {
	kind = possible(kind, p.series, p.against)
	row, base := levels(p.row, p.series, kind), levels(p.base, p.against, kind)
	if kind == record.ValuePieces {
		both := stats.PiecedLevels(collecting(p.blocks), pieced(p.row, p.series), pieced(p.base, p.against))
		row.Fast, base.Fast = both[0], both[1]
	}
	return difference(row.Fast, base.Fast), difference(row.Mean, base.Mean)
}

func difference(a, b []float64) []float64 {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	return d
}

func knowsCPU(series []*record.Series) bool {
	for _, s := range series {
		for _, ns := range s.CPUNS {
			if ns <= 0 {
				return false
			}
		}
		if s.CPUNS == nil {
			return false
		}
	}
	return true
}

// possible is the kind of value that two rows can be compared by, if not by the one asked for.
func possible(kind record.Value, series, against []*record.Series) record.Value {
	both := slices.Concat(series, against)
	if kind == record.ValuePieces && slices.ContainsFunc(both, func(s *record.Series) bool { return s.FastNS == 0 }) {
		kind = record.ValueHalfCPU
	}
	if kind.IsCPU() && !knowsCPU(both) {
		return record.ValueFastWall
	}
	return kind
}

// levels are a row's by block, of a kind, with what its collections cost.
func levels(row *record.Row, series []*record.Series, kind record.Value) stats.Levels {
	share := 0.25
	if kind == record.ValueHalfCPU {
		share = 0.5
	}
	return stats.CollectedLevels(batches(row, series, kind), collectionRate(series), share)
}

// batches are a row's times of an operation, by block.
func batches(row *record.Row, series []*record.Series, kind record.Value) []stats.Batches {
	blocks := make([]stats.Batches, len(series))
	for i, s := range series {
		if kind.IsCPU() {
			blocks[i].Time = s.CPUNSPerOp(row.N)
		} else {
			blocks[i].Time = s.NSPerOp(row.N)
		}
		for _, n := range s.Collections {
			blocks[i].Collections = append(blocks[i].Collections, float64(n))
		}
	}
	return blocks
}

// pieced is a row whose batches were timed in pieces.
func pieced(row *record.Row, series []*record.Series) stats.Pieced {
	var p stats.Pieced
	var bytes []float64
	for _, s := range series {
		p.Clean = append(p.Clean, float64(s.FastNS)/float64(row.N))
		for _, b := range s.Bytes {
			bytes = append(bytes, float64(b)/float64(row.N))
		}
	}
	p.Bytes = stats.Median(bytes)
	return p
}

// collecting is what each row of a case's blocks collected, and when.
func collecting(blocks []*record.Block) []stats.Collecting {
	var of []stats.Collecting
	cycles, place := map[int][]float64{}, map[string]int{}
	for i, block := range blocks {
		for _, s := range block.Series {
			at, ok := place[s.Row]
			if !ok {
				at = len(of)
				place[s.Row], of = at, append(of, stats.Collecting{Blocks: make([]stats.Batches, len(blocks))})
			}
			if len(s.Collections) < len(s.CPUNS) {
				continue // an old revision's program did not count them
			}
			b := &of[at].Blocks[i]
			for j, ns := range s.CPUNS {
				b.Time, b.Collections = append(b.Time, float64(ns)), append(b.Collections, float64(s.Collections[j]))
			}
			if s.CollectionBytes > 0 {
				cycles[at] = append(cycles[at], float64(s.CollectionBytes))
			}
		}
	}
	for at, bytes := range cycles {
		of[at].Cycle = stats.Median(bytes)
	}
	return of
}

// collectionRate is how many garbage collections a row needs for a batch. It follows from the bytes
// allocated between collections, as their number in a few blocks is subject to chance.
func collectionRate(series []*record.Series) float64 {
	var bytes, collections, batches float64
	var cycles []float64
	for _, s := range series {
		for i, n := range s.Collections {
			collections += float64(n)
			bytes += float64(s.Bytes[i])
			batches++
		}
		if s.CollectionBytes > 0 {
			cycles = append(cycles, float64(s.CollectionBytes))
		}
	}
	switch {
	case batches == 0 || collections == 0:
		return 0
	case len(cycles) == 0:
		return collections / batches
	}
	return bytes / batches / stats.Median(cycles)
}

// CleanShare is the part of a row's value, compared with base, that is not the cost of collections:
// 1 where batches are not timed in pieces.
func CleanShare(blocks []*record.Block, row, base *record.Row) float64 {
	p := newPair(blocks, row, base)
	if len(p.series) == 0 || possible(base.Value, p.series, p.against) != record.ValuePieces {
		return 1
	}
	its := pieced(row, p.series)
	levels := stats.PiecedLevels(collecting(p.blocks), its)[0]
	var shares []float64
	for i, clean := range its.Clean {
		shares = append(shares, clean/math.Exp(levels[i]))
	}
	return stats.Median(shares)
}

// tail is how much the mean over a row's batches lies above the row's value.
func tail(row *record.Row, blocks []*record.Block) *float64 {
	p := newPair(blocks, row, row)
	if !row.Value.IsFast() || len(p.series) == 0 {
		return nil
	}
	kind := possible(row.Value, p.series, nil)
	l := levels(row, p.series, kind)
	if kind == record.ValuePieces {
		l.Fast = stats.PiecedLevels(collecting(p.blocks), pieced(row, p.series))[0]
	}
	x := math.Exp(stats.Median(difference(l.Mean, l.Fast)))
	return &x
}

// contradicts reports whether the mean over all batches does not support a verdict from the fast
// ones: it gives no verdict in that direction, and its interval and the ratio's have nothing in
// common. Of noise alone it says nothing: its interval is several times as wide.
func contradicts(mean, ratio stats.Comparison, v stats.Verdict, margin float64) bool {
	if v != stats.Faster && v != stats.Slower || stats.Decide(mean, margin) == v {
		return false
	}
	return mean.Low > ratio.High || mean.High < ratio.Low
}

// orWall is the test of a row's CPU time, or of its wall time if only that is entirely beyond the
// threshold: code that waits longer is slower without using more CPU time. As it is one of two
// tests, its p-value is doubled.
func orWall(cpu, wall stats.Shift, threshold float64) stats.Shift {
	if wall.Low < threshold || cpu.Low >= threshold {
		return cpu
	}
	wall.P = min(1, 2*wall.P)
	return wall
}
