package send

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// slowest is the longest latency that is told apart; longer ones count as it.
const slowest = time.Minute

// latencies keeps how long one goroutine's operations took. Keeping one costs about
// 15 ns and one reading of the clock.
type latencies struct {
	histogram *hdrhistogram.Histogram
}

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, slowest.Nanoseconds(), 3)
}

func (l *latencies) record(took time.Duration) {
	_ = l.histogram.RecordValue(min(max(1, took.Nanoseconds()), slowest.Nanoseconds()))
}

// Latencies returns the latencies in nanoseconds of the operations since it was called
// last, and forgets them.
func (in *instance) Latencies() *hdrhistogram.Histogram {
	sum := newHistogram()
	for i := range in.lanes {
		sum.Merge(in.lanes[i].histogram)
		in.lanes[i].histogram.Reset()
	}
	return sum
}
