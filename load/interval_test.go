package load

import (
	"context"
	"sync/atomic"
	"testing"
	"time"
)

// Each answer belongs to exactly one interval.
func TestIntervals(t *testing.T) {
	t.Parallel()
	var told, failed, inHistograms int64
	var last time.Duration
	var n atomic.Int64
	r, err := Run(t.Context(), Plan{Pacer: Constant{500, 600 * time.Millisecond}, Every: 50 * time.Millisecond,
		Told: func(in Interval) {
			if in.From != last || in.To < in.From {
				t.Errorf("from %v to %v after %v", in.From, in.To, last)
			}
			last = in.To
			told += in.Done
			failed += in.Failed
			inHistograms += in.Latency.TotalCount()
		},
		Lines: lines(senderFunc(func(context.Context) error {
			if n.Add(1)%3 == 0 {
				return context.DeadlineExceeded
			}
			return nil
		}))})
	if err != nil || told != r.Done || failed != r.Failed() || inHistograms != r.Done || r.Done != 300 || failed != 100 {
		t.Errorf("%v: %d answers were told of, %d failed; %d and %d came", err, told, failed, r.Done, r.Failed())
	}
}
