package lab

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// SlowestLatency is the longest latency that is told apart; longer ones count as it.
const SlowestLatency = time.Minute

// Latencies keeps how long operations took, for contenders that are Distributed. It is
// for one goroutine. Keeping one costs about 15 ns, and its caller a reading of the clock.
type Latencies struct{ histogram *hdrhistogram.Histogram }

// NewLatencies keeps three digits of each.
func NewLatencies() *Latencies { return &Latencies{newHistogram()} }

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, SlowestLatency.Nanoseconds(), 3)
}

// Record keeps one.
func (l *Latencies) Record(took time.Duration) {
	_ = l.histogram.RecordValue(min(max(1, took.Nanoseconds()), SlowestLatency.Nanoseconds()))
}

// TakeLatencies returns all that were kept, in nanoseconds, and has their keepers forget
// them. It is what Distributed asks for.
func TakeLatencies(keepers ...*Latencies) *hdrhistogram.Histogram {
	sum := newHistogram()
	for _, l := range keepers {
		sum.Merge(l.histogram)
		l.histogram.Reset()
	}
	return sum
}
