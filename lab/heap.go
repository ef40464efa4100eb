package lab

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"postage/internal/proc"
)

// node is one of what lives in the heap of a process like a service's.
type node struct {
	left, right *node
	text        string
	_           [2]int
}

// nodeBytes is what a node and its text take in the heap.
const nodeBytes = 48 + 24

var live *node // what populate made

// populate makes so many bytes of heap live: a tree of small nodes with pointers.
func populate(bytes int64) {
	before := debug.SetGCPercent(-1)
	live = tree(int(bytes / nodeBytes))
	runtime.KeepAlive(live)
	debug.SetGCPercent(before)
}

func tree(nodes int) *node {
	if nodes == 0 {
		return nil
	}
	left := (nodes - 1) / 2
	return &node{left: tree(left), right: tree(nodes - 1 - left), text: string(make([]byte, 24))}
}

// Collect collects garbage, and allocates a part of what the heap has room for, so that a block's
// first batch is anywhere in the cycle. Before that, as much as a cycle is allocated once: memory
// takes a page fault the first time that a process uses it.
func (w *worker) Collect(_ context.Context, part float64) error {
	var m runtime.MemStats
	percent := debug.SetGCPercent(-1)
	runtime.ReadMemStats(&m)
	allocate(float64(m.HeapAlloc) * float64(percent) / 100)
	debug.SetGCPercent(percent)
	runtime.GC()
	runtime.ReadMemStats(&m)
	allocate(part * (float64(m.NextGC) - float64(m.HeapAlloc)))
	return nil
}

// allocate allocates so many bytes.
func allocate(bytes float64) {
	const piece, page = 32 << 10, 4 << 10
	for left := int64(bytes); left > 0; left -= piece {
		garbage = make([]byte, piece)
		for i := 0; i < piece; i += page { // new memory is zero, and only used when it is written
			garbage[i] = 1
		}
	}
	garbage = nil
	awaitCollection()
}

var garbage []byte // so that it is allocated on the heap

// collections are those of the process so far.
func collections() uint64 {
	sample := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// collecting reports whether a collection is under way.
func collecting() bool {
	ended := make(chan struct{})
	go func() {
		awaitCollection()
		close(ended)
	}()
	for range 3 { // the goroutine has its turn, whatever else there is
		runtime.Gosched()
	}
	select {
	case <-ended:
		return false
	default:
		return true
	}
}

// settle returns when the process's other goroutines have nothing more to do, or after some
// milliseconds: what a batch made them do is part of what it costs.
func settle() {
	for range 20 {
		before, known := proc.CPUOfCode()
		for range 3 { // even where another process has the processor while this one sleeps
			runtime.Gosched()
		}
		time.Sleep(settleFor)
		if after, _ := proc.CPUOfCode(); !known || after-before < settleFor/2 {
			return
		}
	}
}

const settleFor = 200 * time.Microsecond

// awaitCollection returns when no collection is under way: to switch collecting off waits
// for the end of marking.
func awaitCollection() { debug.SetGCPercent(debug.SetGCPercent(-1)) }
