package lab

import (
	"runtime"
	"testing"
	"time"
)

// A contender that is let run for a cycle is timed from the end of one collection to the end of the
// next; one that allocates too little says nothing.
func TestLetRunForACycle(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer func() { live = nil }()
	populate(16 << 20)
	runtime.GC()
	w, before := &worker{instance: &allocating{}}, collections()
	answer, err := w.plain(request{N: 1 << 20, Pieces: 1 << 10, Cycles: 1})
	allocated := 256 * answer.N * len(answer.Parts)
	if err != nil || collections() < before+2 || allocated < 4<<20 || allocated > 64<<20 {
		t.Errorf("%d collections, %d bytes, %v", collections()-before, allocated, err)
	}
	if answer, err = w.plain(request{N: 8, Pieces: 8, Cycles: 1}); err != nil || len(answer.Parts) > 0 {
		t.Errorf("8 operations are a cycle: %d parts, %v", len(answer.Parts), err)
	}
}

// In a run, a case's contenders are let run if one of them allocates.
func TestLetRun(t *testing.T) {
	for _, pattern := range []string{"op=memory", "op=plain"} {
		rec, let := measured(t, testConductor(t), 20*time.Second, pattern), 0
		for _, b := range rec.Blocks {
			for _, s := range b.Series {
				if s.PlainNS > 0 && s.CollectionBytes > 4<<20 && s.CollectionBytes < 64<<20 {
					let++
				}
			}
		}
		if (let > 0) != (pattern == "op=memory") {
			t.Errorf("%s: let run %d times", pattern, let)
		}
	}
}
