// Package lanes runs a contender's operations in parallel.
package lanes

import (
	"cmp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Lanes run operations in parallel, each lane one after the other. They keep how long each
// operation took, as [lab.Distributed] asks for.
type Lanes struct {
	do    func(lane int) error
	taken []*hdrhistogram.Histogram // what operations took, in nanoseconds
}

// SlowestLatency is the longest latency that the histogram holds. Longer ones count as this one.
const SlowestLatency = time.Minute

// NewHistogram keeps three digits of each latency. Keeping one costs about 15 ns.
func NewHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, SlowestLatency.Nanoseconds(), 3)
}

// New makes so many lanes. do does one operation on the lane of that number.
func New(count int, do func(lane int) error) *Lanes {
	l := &Lanes{do: do}
	for range count {
		l.taken = append(l.taken, NewHistogram())
	}
	return l
}

// Run does n operations. Each lane does one, and takes the next as soon as it has done with the
// one before, so that all end at the same time. An error ends all.
func (l *Lanes) Run(n int) error {
	errs := make([]error, min(n, len(l.taken)))
	var left atomic.Int64
	left.Store(int64(n - len(errs))) // beside each lane's first, which no other may take: proofs look at all lanes
	if len(errs) == 1 {
		return l.run(0, &left)
	}
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() {
			if errs[i] = l.run(i, &left); errs[i] != nil {
				left.Store(0) // the others need not go on
			}
		})
	}
	group.Wait()
	return cmp.Or(errs...)
}

// run does an operation, and more while there are some left. The end of one is the beginning of
// the next, which saves a reading of the clock.
func (l *Lanes) run(i int, left *atomic.Int64) error {
	begun := time.Now()
	for first := true; first || left.Add(-1) >= 0; first = false {
		if err := l.do(i); err != nil {
			return err
		}
		now := time.Now()
		_ = l.taken[i].RecordValue(min(max(1, now.Sub(begun).Nanoseconds()), SlowestLatency.Nanoseconds()))
		begun = now
	}
	return nil
}

// Latencies returns the latencies of all lanes, and forgets them.
func (l *Lanes) Latencies() *hdrhistogram.Histogram {
	sum := NewHistogram()
	for _, taken := range l.taken {
		sum.Merge(taken)
		taken.Reset()
	}
	return sum
}
