package lab

import (
	"runtime"
	"runtime/debug"
	"time"
)

// heap finds out how many bytes a process allocates from one collection to the next. A block is too
// short to count how often its batches collect.
type heap struct {
	began  uint64 // bytes allocated before the cycle that was begun
	first  uint32 // the collection that began it
	last   uint64 // bytes allocated before the end of the last collection seen
	cycles int64
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
	*h = heap{began: m.TotalAlloc, first: m.NumGC}
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

// awaitCollection returns when no collection is under way: to switch collecting off waits
// for the end of marking.
func awaitCollection() { debug.SetGCPercent(debug.SetGCPercent(-1)) }
