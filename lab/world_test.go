package lab

import (
	"context"
	"runtime"
	"testing"
	"time"
)

// empty is a contender that does nothing.
type empty struct{}

func (empty) Prove(context.Context) error { return nil }
func (empty) Close() error                { return nil }
func (empty) Run(int) error               { return nil }

// helped is a contender that has another goroutine do half of its work, or none.
type helped struct {
	empty
	by   chan int
	done chan struct{}
}

func newHelped(with bool) *helped {
	h := &helped{}
	if with {
		h.by, h.done = make(chan int), make(chan struct{})
		go func() {
			defer close(h.done)
			for n := range h.by {
				busyFor(n)
			}
		}()
	}
	return h
}

func busyFor(n int) {
	spin(1000 * n)
}

func (h *helped) Cycle() int { return 1 }
func (h *helped) Run(n int) error {
	busyFor(n)
	if h.by != nil {
		h.by <- n
	}
	return nil
}
func (h *helped) Close() error {
	if h.by != nil {
		close(h.by)
		<-h.done
	}
	return nil
}

// A goroutine that is made once, as the runtime makes some, does not keep batches from being timed
// in pieces.
func TestOneGoroutineIsNotOthers(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	made := false
	w := &worker{instance: &work{run: func(n int) error {
		if spin(n); !made {
			made = true
			go func() {}()
		}
		return nil
	}}}
	if w.hasOthers(1000) || !made {
		t.Errorf("it is taken for one whose work others do (%v)", made)
	}
}

// Work in another goroutine is part of the cost: such batches are not timed in pieces, and their
// CPU time is that of both.
func TestWorkOfOtherGoroutinesCounts(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	workers, n, perOp := map[bool]*worker{}, map[bool]int{}, map[bool]int64{}
	for _, with := range []bool{false, true} {
		w := &worker{}
		w.others = runtime.NumGoroutine()
		h := newHelped(with)
		defer h.Close()
		w.instance = h
		answer, err := w.calibrate(batchTarget)
		if err != nil || (answer.Pieces > 0) == with {
			t.Errorf("with another goroutine %v: %d pieces, %v", with, answer.Pieces, err)
		}
		w.count, n[with], workers[with] = answer.Pieces, answer.N, w
	}
	workers[false].others = runtime.NumGoroutine()
	for i := range 20 { // in turns, and the least, as the machine does something else
		with := i%2 == 1
		b, err := workers[with].Batch(context.Background(), n[with])
		if err != nil {
			t.Fatal(err)
		}
		if each := b.CPUNS / int64(n[with]); perOp[with] == 0 || each < perOp[with] {
			perOp[with] = each
		}
	}
	if perOp[true] < perOp[false]*3/2 {
		t.Errorf("twice the work costs %d ns, once %d", perOp[true], perOp[false])
	}
}

// A worker's heap has what it is told to, alive, and collects as often as it must.
func TestPopulate(t *testing.T) {
	defer func() { live = nil }()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	populate(16 << 20)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown < 15<<20 || grown > 20<<20 {
		t.Errorf("16 MB take %d bytes of heap", grown)
	}
}

// To set a worker up takes two collections and one as it is opened: a block begins the sooner.
func TestWorkersHardlyCollect(t *testing.T) {
	entries, rec := prepared(t, time.Minute, "op=memory")
	r := &run{Conductor: testConductor(t), rec: rec}
	child, err := r.process(t.Context(), &entries[0], 0)
	if err != nil {
		t.Fatal(err)
	}
	defer child.Kill()
	if _, err := r.ready(t.Context(), child, &entries[0]); err != nil {
		t.Fatal(err)
	}
	for _, q := range []request{{Op: opWarm, N: 100}, {Op: opPlain, N: 100, Pieces: 2}} {
		answer, err := child.ask(t.Context(), q, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range answer.Parts {
			if part.Cycle == 0 || part.Cycle > 3 {
				t.Fatalf("%d collections", part.Cycle)
			}
		}
	}
}
