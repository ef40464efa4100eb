package lab

import (
	"slices"
	"time"
)

// A batch in mostPieces has pieces of a quarter of a millisecond. That is less than a scheduler
// gives another process at a time, so that most are not interrupted even on a busy processor.
const leastPieces, mostPieces = 8, 32

// Of the pieces with the same work, the time counts that a tenth of them, fastPart, stay below.
// Batches are made for leastOfWork of them; in a short block the least of fewestOfWork counts.
const fastPart, leastOfWork, fewestOfWork = 0.1, 9, 4

// inPieces divides batches of about n operations into pieces of equally many. The work repeats
// after cycle operations, and pieces that begin at the same place of the cycle are of one kind:
// only they can be compared. Of the sizes that make mostPieces, or up to twice as many, the
// largest is taken that has the fewest kinds. pieces is 0, for a batch that is timed as a whole,
// if there would be fewer than leastPieces, or in all rounds fewer than leastOfWork of a kind.
func inPieces(n, cycle, rounds int) (operations, pieces int) {
	if cycle < 1 {
		return n, 0
	}
	piece := max(1, n/mostPieces)
	for smaller := piece - 1; smaller >= 1 && n/smaller <= 2*mostPieces; smaller-- {
		if kinds(smaller, cycle) < kinds(piece, cycle) {
			piece = smaller
		}
	}
	pieces = n / piece
	if pieces < leastPieces || rounds*pieces < leastOfWork*kinds(piece, cycle) {
		return n, 0
	}
	return pieces * piece, pieces
}

// roundsOf is in how many rounds there are twice leastOfWork pieces of each kind, if a batch
// of n operations has so many pieces; at most DefaultRounds.
func roundsOf(n, pieces, cycle int) int {
	if pieces == 0 {
		return 0
	}
	return min(DefaultRounds, (2*leastOfWork*kinds(n/pieces, cycle)+pieces-1)/pieces)
}

// kinds is the number of pieces after which the work is the same again.
func kinds(piece, cycle int) int {
	a, b := piece, cycle
	for b > 0 { // their greatest common divisor
		a, b = b, a%b
	}
	return cycle / a
}

// pieces are the times of a block's pieces.
type pieces struct {
	each        [2 * mostPieces]time.Duration // of the batch
	kinds, next int                           // of work, and that of the next piece
	counted     []float64                     // ns, of the batches that count, in their order
	first       int                           // kind of the first of them
}

// run runs a batch of n operations, in that many pieces.
func (p *pieces) run(instance Instance, n, count int, start time.Time) error {
	for i := range count {
		if err := instance.Run(n / count); err != nil {
			return err
		}
		now := time.Now()
		p.each[i], start = now.Sub(start), now
	}
	return nil
}

// keep keeps the times of the batch that was run last, if it is one that counts.
func (p *pieces) keep(n, count, cycle int, counts bool) {
	p.kinds = kinds(n/count, cycle)
	if counts && p.counted == nil {
		p.first = p.next
	}
	for _, t := range p.each[:count] {
		if counts {
			p.counted = append(p.counted, float64(t))
		}
		p.next = (p.next + 1) % p.kinds
	}
}

// fast is the time of a batch of fast pieces, and that in ns of each batch by its own; 0 and nil if
// too few were run.
func (p *pieces) fast(count int) (all time.Duration, each []int64) {
	times := make([][]float64, max(1, p.kinds))
	for i, t := range p.counted {
		kind := (p.first + i) % p.kinds
		times[kind] = append(times[kind], t)
	}
	var levels []float64
	sum := 0.0
	for _, ts := range times {
		if len(ts) < fewestOfWork {
			return 0, nil
		}
		levels = append(levels, fastOf(ts))
		sum += levels[len(levels)-1]
	}
	batch := sum / float64(p.kinds) * float64(count)
	for i := 0; i < len(p.counted); i += count {
		own := make([]float64, count)
		for j := range own {
			own[j] = p.counted[i+j] / levels[(p.first+i+j)%p.kinds]
		}
		each = append(each, max(1, int64(fastOf(own)*batch)))
	}
	return time.Duration(batch), each
}

// fastOf is what a tenth of the times stay below. It sorts them.
func fastOf(times []float64) float64 {
	slices.Sort(times)
	at := fastPart*float64(len(times)+1) - 1
	low := max(0, int(at))
	return times[low] + max(0, at-float64(low))*(times[low+1]-times[low])
}
