package lab

import (
	"context"
	"runtime"
	"testing"
	"time"

	"postage/record"
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

// Work in another goroutine is part of the cost: a batch's CPU time has both.
func TestWorkOfOtherGoroutinesCounts(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	workers, perOp := map[bool]*worker{}, map[bool]int64{}
	const n = 5000 // some milliseconds
	for _, with := range []bool{false, true} {
		workers[with] = &worker{others: runtime.NumGoroutine()}
		h := newHelped(with)
		defer h.Close()
		workers[with].instance = h
	}
	workers[false].others = runtime.NumGoroutine()
	for i := range 20 { // in turns, and the least, as the machine does something else
		with := i%2 == 1
		b, err := workers[with].Batch(context.Background(), n)
		if err != nil {
			t.Fatal(err)
		}
		if each := b.CPUNS / n; perOp[with] == 0 || each < perOp[with] {
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

// A worker collects while it is warmed up, and hardly before: a block begins the sooner.
func TestWorkersHardlyCollect(t *testing.T) {
	entries, rec := prepared(t, time.Minute, "op=memory")
	r := &run{conductor: testConductor(t), rec: rec}
	child, err := r.process(t.Context(), &entries[0], 0)
	if err != nil {
		t.Fatal(err)
	}
	defer child.Kill()
	if _, err := r.ready(t.Context(), child, &entries[0]); err != nil {
		t.Fatal(err)
	}
	for _, q := range []request{{Op: opWarm, N: 100}, {Op: opRun, N: 100}} {
		answer, err := child.ask(t.Context(), q, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if b := answer.Batch; b != nil && (b.Counters["collections"] < 1 || b.Counters["collections"] > 3) {
			t.Errorf("%v collections until the end of the first batch that counts, want one to three", b.Counters["collections"])
		}
	}
}

// A contender goes on while a collection is under way, and its turn ends when none is: none of them
// runs beside another contender's batch, or without the code that made it necessary.
func TestGoesOnWhileItCollects(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer func() { live = nil }()
	populate(16 << 20)
	var sink []byte
	w := &worker{value: record.ValueCost, instance: &work{run: func(n int) error {
		for range n {
			sink = make([]byte, 4<<10)
		}
		return nil
	}}}
	more := 0
	for range 40 {
		batches, err := w.turn(1000) // 4 MB, of some 20 from one collection to the next
		if err != nil {
			t.Fatal(err)
		}
		if more += len(batches) - 1; collecting() {
			t.Error("a collection is under way after a turn")
		}
	}
	runtime.KeepAlive(sink)
	if more == 0 {
		t.Error("no turn had more than one batch: no collection was met")
	}
	w.value = record.ValueWall // where waiting is the matter, batches are paired by rounds
	for range 40 {
		if batches, err := w.turn(1000); err != nil || len(batches) != 1 {
			t.Fatalf("%d batches, %v", len(batches), err)
		}
	}
}
