package lab

import (
	"math"
	"runtime"
	"testing"
	"time"

	"postage/internal/sys/proc"
)

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
		least := [2]int64{math.MaxInt64, math.MaxInt64}
		for turn := range turns {
			instances := [2]Instance{&work{}, slow{&work{}, 0.05, false}}
			which := (turn + turn/2) % 2 // either comes first as often
			b, _, err := timed(instances[which], n, 0, false, nil)
			if err != nil {
				t.Fatal(err)
			}
			least[which] = min(least[which], b.CPUNS)
		}
		if ratio = float64(least[1]) / float64(least[0]); ratio > 1.03 && ratio < 1.08 {
			break
		}
	}
	if ratio < 1.03 || ratio > 1.08 {
		t.Errorf("slowed by 5%% it takes %.3f times the CPU time", ratio)
	}
	if s := (slow{&sized{}, 0.05, false}); leastOps(s) != 8 {
		t.Errorf("slowed it may have %d operations to a batch, want at least 8", leastOps(s))
	}
	if all, err := counters(slow{&sometimes{}, 0.05, false}); err != nil || all["things/op"] != 1 {
		t.Errorf("slowed it counts %v, %v", all, err)
	}
}

// Where wall time is compared it takes 5% longer, though it waits for most of it.
func TestSlowedByTheClock(t *testing.T) {
	const waits = 20 * time.Millisecond
	wait := &work{run: func(int) error { time.Sleep(waits); return nil }}
	for range 20 { // more is what a busy machine adds
		start := time.Now()
		if err := (slow{wait, 0.05, true}).Run(1); err != nil {
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
