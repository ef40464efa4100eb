package lab

import (
	"runtime"
	"runtime/debug"
	"time"

	"postage/proc"
)

// heap finds out how many bytes a process allocates from one collection to the next. A block is too
// short to count how often its batches collect.
type heap struct {
	began  uint64 // bytes allocated before the cycle that was begun
	first  uint32 // the collection that began it
	last   uint64 // bytes allocated before the end of the last collection seen
	cycles int64
	// since is how many batches were run since the last collection.
	since int
	// goroutines are those of a process whose contender has none, 0 where batches do not wait for
	// more.
	goroutines int
}

// node is one of what lives in the heap of a process like a service's.
type node struct {
	left, right *node
	text        string
	numbers     [2]int
}

// nodeBytes is what a node and its text take in the heap.
const nodeBytes = 48 + 24

var live *node // what populate made

// populate makes so many bytes of heap live: a tree of small nodes with pointers.
func (h *heap) populate(bytes int64) {
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
		h.since = 0
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
// batch is anywhere in the cycle and none of the batches always has the collection. Before that, a
// whole cycle is allocated once: memory that a process has not used yet is slower the first time.
func (h *heap) begin(part float64) {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	allocate(&m, 1)
	runtime.GC()
	runtime.ReadMemStats(&m)
	*h = heap{began: m.TotalAlloc, first: m.NumGC, goroutines: h.goroutines}
	allocate(&m, part)
}

// allocate uses up a part of what the heap has room for until the next collection.
func allocate(m *runtime.MemStats, part float64) {
	const most, piece = 128 << 20, 32 << 10
	if m.NextGC <= m.HeapAlloc {
		return
	}
	for left := int64(part * float64(min(m.NextGC-m.HeapAlloc, most))); left > 0; left -= piece {
		garbage = make([]byte, piece)
		runtime.KeepAlive(garbage)
	}
	garbage = nil
	awaitCollection()
}

var garbage []byte // so that it is allocated on the heap

// seen is told of a batch during which the process collected: bytes are taken to be
// allocated evenly over it.
func (h *heap) seen(before, after *runtime.MemStats, start time.Time, wall time.Duration) {
	ended := time.Unix(0, int64(after.PauseEnd[(after.NumGC+255)%256])).Sub(start)
	part := min(1, max(0, float64(ended)/float64(max(1, wall))))
	h.last = before.TotalAlloc + uint64(part*float64(after.TotalAlloc-before.TotalAlloc))
	h.cycles = int64(after.NumGC - h.first)
}

func (h *heap) cycle() int64 {
	if h.cycles == 0 {
		return 0
	}
	return int64(h.last-h.began) / h.cycles
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
