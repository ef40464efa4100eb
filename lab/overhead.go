package lab

import (
	"context"
	"time"

	"postage/internal/stats"
)

// overheadNS is what an operation costs more in the instrument than in a bare loop:
// batches of a contender that does nothing, measured like any other's, against the
// same loop with a clock around it.
func overheadNS() (float64, error) {
	const n, times = 10_000, 101
	var through, bare []float64
	for range times {
		b, err := timed(empty{}, n, nil, 0, nil)
		if err != nil {
			return 0, err
		}
		through = append(through, float64(b.WallNS)/n)
		start := time.Now()
		for range n {
			nothing()
		}
		bare = append(bare, float64(time.Since(start).Nanoseconds())/n)
	}
	return stats.Median(through) - stats.Median(bare), nil
}

// empty is a contender that does nothing.
type empty struct{}

var _ Instance = empty{}

func (empty) Prove(context.Context) error { return nil }
func (empty) Close() error                { return nil }
func (empty) Run(n int) error {
	for range n {
		nothing()
	}
	return nil
}

//go:noinline
func nothing() {}
