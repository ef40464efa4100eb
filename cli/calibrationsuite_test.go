package cli

import (
	"context"
	"math"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"postage/internal/sys/proc"
	"postage/lab"
)

// spinning does steps that each need the one before.
type spinning struct{}

func (spinning) Prove(context.Context) error { return nil }
func (spinning) Close() error                { return nil }
func (spinning) MinOps() int                 { return 8 }
func (spinning) Counters() (map[string]float64, error) {
	return map[string]float64{"things/op": 1}, nil
}

func (spinning) Run(n int) error {
	x := spun.Load()
	for range n {
		x = x*6364136223846793005 + 1442695040888963407
	}
	spun.Store(x)
	return nil
}

var spun atomic.Uint64

// sleeping waits so long, whatever it is to do.
type sleeping time.Duration

func (sleeping) Prove(context.Context) error { return nil }
func (sleeping) Close() error                { return nil }
func (s sleeping) Run(int) error             { time.Sleep(time.Duration(s)); return nil }

// Slowed by 5%, a contender takes 5% more CPU time. What it counts and how small its batches may be
// is as before.
func TestSlowed(t *testing.T) {
	if _, known := proc.CPUOfCode(); !known {
		t.Skip("CPU time is not known here")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const n, turns = 8_000_000, 40 // a turn takes some 10 ms
	var ratio float64
	for range 3 { // a busy core may be slower in all turns of the one, and not of the other
		least := [2]time.Duration{math.MaxInt64, math.MaxInt64}
		for turn := range turns {
			instances := [2]lab.Instance{spinning{}, slow{spinning{}, 0.05, false}}
			which := (turn + turn/2) % 2 // either comes first as often
			before, _ := proc.CPUOfCode()
			if err := instances[which].Run(n); err != nil {
				t.Fatal(err)
			}
			after, _ := proc.CPUOfCode()
			least[which] = min(least[which], after-before)
		}
		if ratio = float64(least[1]) / float64(least[0]); ratio > 1.03 && ratio < 1.08 {
			break
		}
	}
	if ratio < 1.03 || ratio > 1.08 {
		t.Errorf("slowed by 5%% it takes %.3f times the CPU time", ratio)
	}
	s := slow{spinning{}, 0.05, false}
	if s.MinOps() != 8 {
		t.Errorf("slowed it may have %d operations to a batch, want at least 8", s.MinOps())
	}
	if all, err := s.Counters(); err != nil || all["things/op"] != 1 {
		t.Errorf("slowed it counts %v, %v", all, err)
	}
}

// Where wall time is compared it takes 5% longer, though it waits for most of it.
func TestSlowedByTheClock(t *testing.T) {
	const waits = 20 * time.Millisecond
	for range 20 { // more is what a busy machine adds
		start := time.Now()
		if err := (slow{sleeping(waits), 0.05, true}).Run(1); err != nil {
			t.Fatal(err)
		}
		elapsed := time.Since(start)
		if elapsed < waits*105/100 {
			t.Fatalf("slowed by 5%% it takes %v, which alone takes %v", elapsed, waits)
		}
		if elapsed < waits*115/100 {
			return
		}
	}
	t.Errorf("slowed by 5%% it takes more than 15%% longer, twenty times")
}
