package lanes_test

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"postage/stage/internal/lanes"
)

// As many operations as there are lanes are one for each, however fast some lanes are: proofs look
// at what every lane did.
func TestLanes(t *testing.T) {
	const count = 8
	for n := 1; n <= 3*count; n++ {
		did := make([]int, count)
		l := lanes.New(count, func(i int) error { did[i]++; return nil })
		for range 50 {
			clear(did)
			if err := l.Run(n); err != nil {
				t.Fatal(err)
			}
			total := 0
			for _, d := range did {
				total += d
			}
			if least := slices.Min(did); total != n || least == 0 && n >= count {
				t.Fatalf("%d operations are %v", n, did)
			}
			if got := l.Latencies().TotalCount(); got != int64(n) {
				t.Fatalf("%d latencies of %d operations", got, n)
			}
		}
	}
}

// An error ends all lanes.
func TestLanesFail(t *testing.T) {
	var done atomic.Int64
	failure := errors.New("no")
	err := lanes.New(4, func(int) error {
		if done.Add(1) == 10 {
			return failure
		}
		return nil
	}).Run(1_000_000)
	if !errors.Is(err, failure) || done.Load() > 900_000 {
		t.Errorf("%v after %d", err, done.Load())
	}
}
