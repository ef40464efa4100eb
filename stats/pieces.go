package stats

import (
	"math"
	"slices"
)

// Pieced is a row whose batches are timed in pieces, each short enough that most meet no collection
// of garbage and no disturbance.
type Pieced struct {
	Clean []float64 // time of an operation without those, one a block, in any unit
	Bytes float64   // allocated by an operation
}

// Collecting is a row from whose batches follows what a collection costs.
type Collecting struct {
	// Cycle is the bytes allocated from one collection to the next, 0 where none was seen.
	Cycle  float64
	Blocks []Batches // whole batches, in the unit of Clean; none where it was not in the block
}

// PiecedLevels finds the levels of rows of one case, as logarithms, one a block: what their clean
// pieces take, and the collections that their allocations will cause.
//
// To collect what was allocated takes a time in proportion to the bytes: a collection's is that of
// marking what lives, and it comes after as many bytes as live (GOGC=100). So the time a byte is
// common to the case's rows, and estimated from the collections of all. Its error is common to all
// blocks, so each level includes how much its block moves it (jackknife); of rows that allocate as
// much it cancels.
func PiecedLevels(of []Collecting, rows ...Pieced) [][]float64 {
	blocks := len(rows[0].Clean)
	each := collectedByte(of, -1)
	influence := make([]float64, blocks)
	if each > 0 {
		var sum float64
		for i := range influence {
			influence[i] = float64(blocks-1) * (each - collectedByte(of, i))
			sum += influence[i]
		}
		for i := range influence {
			influence[i] -= sum / float64(blocks)
		}
	}
	levels := make([][]float64, len(rows))
	for r, row := range rows {
		for i, clean := range row.Clean {
			value := clean + each*row.Bytes
			levels[r] = append(levels[r], math.Log(value)+influence[i]*row.Bytes/value)
		}
	}
	return levels
}

// collectedByte is what it takes to collect a byte, but for the block without: the slope, over the
// bytes collected, of the mean of the faster half of the batches with as many collections. Like
// clean pieces, they are those that were disturbed least.
func collectedByte(rows []Collecting, without int) float64 {
	var xy, xx float64
	for _, row := range rows {
		byCount := map[float64][]float64{}
		var all float64
		for i, b := range row.Blocks {
			for j, t := range b.Time {
				if i != without {
					byCount[b.collections(j)] = append(byCount[b.collections(j)], t)
					all++
				}
			}
		}
		type point struct{ bytes, time, weight float64 }
		var points []point
		var meanX, meanY float64
		for count, times := range byCount {
			slices.Sort(times)
			p := point{count * row.Cycle, mean(times[:part(0.5, len(times))]), float64(len(times)) / all}
			points = append(points, p)
			meanX, meanY = meanX+p.weight*p.bytes, meanY+p.weight*p.time
		}
		for _, p := range points {
			xy += all * p.weight * (p.bytes - meanX) * (p.time - meanY)
			xx += all * p.weight * (p.bytes - meanX) * (p.bytes - meanX)
		}
	}
	if xx == 0 || xy <= 0 {
		return 0 // a collection cannot save time
	}
	return xy / xx
}

func mean(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
