package route

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"postage/load"
	"postage/stage/internal/lanes"
)

// A half is a way at half of the rate that it can do on its one connection. Requests are due at
// random, independent times, and an operation takes from when it is due to the receipt.
type half struct {
	*instance
	rng   *rand.Rand
	every time.Duration // from one request to the next, in the mean
	taken *hdrhistogram.Histogram
}

// Prove proves the way, and finds out what it can do.
func (h *half) Prove(ctx context.Context) error {
	if err := h.instance.Prove(ctx); err != nil {
		return err
	}
	n := 2 * h.MinOps()
	begun := time.Now()
	if err := h.instance.Run(n); err != nil {
		return err
	}
	h.every = 2 * time.Since(begun) / time.Duration(n)
	return nil
}

// Send implements load.Sender.
func (h *half) Send(context.Context) (status int, err error) { return 0, h.send() }

// Run has n requests become due.
func (h *half) Run(n int) error {
	due := load.Times{At: make([]time.Duration, n)}
	for i := range due.At {
		due.For += time.Duration(h.rng.ExpFloat64() * float64(h.every))
		due.At[i] = due.For
	}
	due.For++
	result, err := load.Run(context.Background(), load.Plan{Pacer: due, Lines: []load.Line{load.OneAtATime(h)}})
	if err != nil {
		return err
	}
	if failed := result.Failed(); failed > 0 || result.Done != int64(n) {
		return fmt.Errorf("route: %d of %d requests failed: %v", failed, n, result.Errors)
	}
	h.taken.Merge(result.Latency.Histogram)
	return nil
}

// Latencies returns those since it was called last.
func (h *half) Latencies() *hdrhistogram.Histogram {
	taken := h.taken
	h.taken = lanes.NewHistogram()
	return taken
}
