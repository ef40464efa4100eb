package lab

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"postage/internal/sys/proc"
)

// node is one of the small objects that live in a worker's heap.
type node struct {
	left, right *node
	text        string
	_           [2]int
}

// nodeBytes is how much heap a node and its text take.
const nodeBytes = 48 + 24

var live *node // what populate made

// populate makes a tree of so many bytes, which stays alive, and collects once.
func populate(bytes int64) {
	var m runtime.MemStats
	percent := debug.SetGCPercent(-1)
	live = tree(int(bytes / nodeBytes))
	runtime.KeepAlive(live)
	runtime.ReadMemStats(&m)
	allocate(float64(m.HeapAlloc) * float64(percent) / 100) // see Collect
	debug.SetGCPercent(percent)
	runtime.GC()
}

func tree(nodes int) *node {
	if nodes == 0 {
		return nil
	}
	left := (nodes - 1) / 2
	return &node{left: tree(left), right: tree(nodes - 1 - left), text: string(make([]byte, 24))}
}

// Collect allocates a part of a collector's cycle, so that a block's first batch begins anywhere in
// it. If the heap has never been as large as at a cycle's end, it is made so before: memory takes a
// page fault the first time that a process uses it.
func (w *worker) Collect(_ context.Context, part float64) error {
	var m runtime.MemStats
	if runtime.ReadMemStats(&m); m.NextGC == math.MaxUint64 { // GOGC=off
		return nil
	}
	if used := m.HeapSys - m.HeapReleased; used < m.NextGC {
		percent := debug.SetGCPercent(-1)
		allocate(float64(m.NextGC) - float64(m.HeapAlloc))
		debug.SetGCPercent(percent)
	}
	allocate(part * (float64(m.NextGC) - float64(metric("/gc/heap/live:bytes"))))
	return nil
}

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

const collections = "/gc/cycles/total:gc-cycles" // that the process has ended

// metric is one of package runtime/metrics.
func metric(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
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

// settle waits until the process's other goroutines have nothing more to do, for at most some
// milliseconds. What a batch made them do is part of its cost.
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
