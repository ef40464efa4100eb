package lab

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"postage/internal/proc"
)

// heap is what the garbage collector of a worker's process has to do with its batches.
type heap struct {
	// since is how many batches were run since the last collection.
	since int
	// rooms are the cycleBytes of its collections so far, in so many batches.
	rooms, collected int64
	// goroutines are those of a process whose contender has none, 0 where batches do not wait for
	// more.
	goroutines int
}

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
	debug.SetGCPercent(before)
}

func tree(nodes int) *node {
	if nodes == 0 {
		return nil
	}
	left := (nodes - 1) / 2
	return &node{left: tree(left), right: tree(nodes - 1 - left), text: string(make([]byte, 24))}
}

// A collection should fall into one batch of so many, so that each block has some; but not for
// those who allocate so little in a batch that their collections are no matter.
const (
	batchesACycle = 8
	leastGarbage  = 32 << 10
)

// steer uses up a part of what the heap has room for where the next collection would be more than
// batchesACycle batches away. It is called after a batch.
func (h *heap) steer(b *Batch) {
	if h.since++; b.Collections > 0 {
		h.since, h.rooms, h.collected = 0, h.rooms+cycleBytes(), h.collected+1
	}
	if live == nil || b.Bytes < leastGarbage || h.since != 1 {
		return
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	// It may begin when seven tenths of the room are used (runtime/mgcpacer.go, trigger).
	if room := int64(m.NextGC) - int64(m.HeapAlloc); room > batchesACycle*b.Bytes {
		allocate(&m, 1-float64(max(batchesACycle*b.Bytes, room*2/5))/float64(room))
	}
}

// begin collects, and allocates a part of what the heap has room for, so that a block's first
// batch is anywhere in the cycle. Before that, a whole cycle is allocated once: memory takes a page
// fault the first time that a process uses it.
func (h *heap) begin(part float64) {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	allocate(&m, 1)
	runtime.GC() // what was allocated while allocate's own collection ran is not garbage to that one
	runtime.ReadMemStats(&m)
	h.since = 0
	allocate(&m, part)
}

// allocate uses up a part of what the heap has room for until the next collection.
func allocate(m *runtime.MemStats, part float64) {
	const most, piece, page = 128 << 20, 32 << 10, 4 << 10
	if m.NextGC <= m.HeapAlloc {
		return
	}
	for left := int64(part * float64(min(m.NextGC-m.HeapAlloc, most))); left > 0; left -= piece {
		garbage = make([]byte, piece)
		for i := 0; i < piece; i += page { // new memory is zero, and only used when it is written
			garbage[i] = 1
		}
	}
	garbage = nil
	awaitCollection()
}

var garbage []byte // so that it is allocated on the heap

// cycleBytes are what a process like this one allocates from one collection to the next: the room
// that its last collection left, 0 if there was none. A worker's own cycles are shorter, as its
// batches wait for the end of a collection that began before all of it was used.
func cycleBytes() int64 {
	samples := []metrics.Sample{{Name: "/gc/heap/goal:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(samples)
	live := samples[1].Value.Uint64()
	if live == 0 {
		return 0
	}
	return int64(samples[0].Value.Uint64() - live)
}

// othersWork reports whether the contender may have goroutines that are still at work.
func (h *heap) othersWork() bool {
	return h != nil && h.goroutines > 0 && runtime.NumGoroutine() > h.goroutines
}

// collections are those of the process so far.
func collections() uint64 {
	sample := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
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
