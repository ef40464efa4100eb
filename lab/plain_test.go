package lab

import (
	"runtime"
	"testing"
	"time"

	"postage/internal/proc"
)

// A contender that is let run for a cycle is timed from the end of one collection to the end of the
// next; one that allocates too little says nothing.
func TestLetRunForACycle(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer func() { live = nil }()
	populate(16 << 20)
	runtime.GC()
	w := &worker{instance: &allocating{}}
	answer, err := w.plain(request{N: 1 << 18, Pieces: 1 << 8})
	parts, ended := ofCycles(answer.Parts)
	if allocated := 256 * answer.N * len(parts); err != nil || ended < 1 || allocated < int(ended)*4<<20 || allocated > int(ended)*64<<20 {
		t.Errorf("%d collections, %d bytes, %v", ended, allocated, err)
	}
	if answer, err = w.plain(request{N: 8, Pieces: 8}); err != nil || len(answer.Parts) != 8 {
		t.Errorf("%d parts of 8, %v", len(answer.Parts), err)
	}
	if parts, ended = ofCycles(answer.Parts); ended > 0 || parts != nil {
		t.Errorf("8 operations are %d cycles, of %d parts", ended, len(parts))
	}
}

// A process that waits for its turn goes on collecting: what it spends between two turns is part of
// what it is let run for, unless it had a batch meanwhile.
func TestWhatIsDoneBetweenTurns(t *testing.T) {
	const between = 20 * time.Millisecond
	if _, known := proc.CPUOfCode(); !known {
		t.Skip("CPU time is not known here")
	}
	w := &worker{instance: empty{}}
	spent := func(first request) (sum time.Duration) {
		if _, err := w.answer(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		for start, _ := proc.CPUOfCode(); sum < between; {
			now, _ := proc.CPUOfCode()
			sum = now - start
		}
		answer, err := w.answer(t.Context(), request{Op: opPlain, N: 8, Pieces: 8})
		if err != nil {
			t.Fatal(err)
		}
		sum = 0
		for _, p := range answer.Parts {
			sum += time.Duration(p.NS) * time.Duration(answer.N)
		}
		return sum
	}
	if after := spent(request{Op: opPlain, N: 8, Pieces: 8}); after < between*9/10 {
		t.Errorf("%v of %v between two turns counts", after, between)
	}
	if after := spent(request{Op: opRun, N: 1}); after > between/2 {
		t.Errorf("%v of %v after a batch counts", after, between)
	}
}

// In a run, a case's contenders are let run if one of them allocates: for whole cycles of
// collections if they come soon, else between two.
func TestLetRun(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		live    int64
		least   int64 // bytes of a cycle, 0 for none
	}{{"op=memory", 16 << 20, 0}, {"op=memory", 2 << 20, 1 << 20}, {"op=plain", 16 << 20, 0}} {
		entries, rec := prepared(t, 10*time.Second, tt.pattern)
		rec.Run.World.LiveHeap = tt.live
		if err := testConductor(t).Run(t.Context(), entries, rec); err != nil {
			t.Fatal(err)
		}
		let := 0
		for _, b := range rec.Blocks {
			for _, s := range b.Series {
				if s.PlainNS > 0 && s.SlowedSquares > 0 && (s.CollectionBytes > 0) == (tt.least > 0) && s.CollectionBytes >= tt.least {
					let++
				}
			}
		}
		if (let > 0) != (tt.pattern == "op=memory") {
			t.Errorf("%s, %d MB alive: let run %d times", tt.pattern, tt.live>>20, let)
		}
	}
}
