package record

import (
	"fmt"

	"postage/internal/words"
)

// World is the process that costs are of: one like a service's.
type World struct {
	// LiveHeap is what lives in the worker's heap beside the contender, in bytes: a tree of small
	// nodes with pointers. 0 is nothing, as in the programs of a user's own benchmarks.
	LiveHeap int64 `json:"live_heap"`
	GOGC     int   `json:"gogc"`
	// Procs is GOMAXPROCS.
	Procs int `json:"procs"`
}

// DefaultWorld is the one that runs are of. With 16 MB alive, a byte costs as much to collect as
// with 1 GB: a collection costs in proportion to what lives, and comes after as many bytes
// (docs/method.md). One processor does all of a contender's work, its collections too, as in a
// service whose processors are busy.
func DefaultWorld() World { return World{LiveHeap: 16 << 20, GOGC: 100, Procs: 1} }

// String describes the world: "16 MB alive, GOGC=100, 1 processor".
func (w *World) String() string {
	return fmt.Sprintf("%s alive, GOGC=%d, %s", megabytes(w.LiveHeap), w.GOGC, words.Counted(w.Procs, "processor"))
}

// megabytes is a size as it was given: by powers of ten if it is a whole number of such megabytes.
func megabytes(n int64) string {
	mb, gb := int64(1<<20), int64(1<<30)
	if n%1e6 == 0 {
		mb, gb = 1e6, 1e9
	}
	if n >= gb {
		return fmt.Sprintf("%.3g GB", float64(n)/float64(gb))
	}
	return fmt.Sprintf("%.3g MB", float64(n)/float64(mb))
}

// leastHeap is the heap, in bytes, below which a Go process does not collect, at GOGC=100
// (runtime/mgcpacer.go, heapMinimum).
const leastHeap = 4 << 20

// cycles is how many bytes of what lives a collection marks for each byte that is allocated.
func (w *World) cycles() float64 {
	live, gogc := float64(w.LiveHeap), float64(w.GOGC)/100
	if w.LiveHeap <= 0 || w.GOGC <= 0 {
		return 0
	}
	return live / max(live*gogc, leastHeap*gogc-live)
}

// Pricing is a world that costs are computed for without measuring again.
type Pricing struct {
	World World // its Procs say nothing
	// PerByte is what a byte costs to collect, in ns, if that is known; else 0.
	PerByte float64
}

// Of is what a byte costs to collect, in ns, where it costs so much in the world that was measured:
// a collection costs in proportion to what lives.
func (p *Pricing) Of(measured float64, in *World) float64 {
	if p.PerByte > 0 || in == nil || in.cycles() == 0 {
		return p.PerByte
	}
	return measured * p.World.cycles() / in.cycles()
}

// String describes the world that is priced for.
func (p *Pricing) String() string {
	if p.PerByte > 0 {
		return fmt.Sprintf("%.3g ns to collect a byte", p.PerByte)
	}
	return fmt.Sprintf("%s alive, GOGC=%d", megabytes(p.World.LiveHeap), p.World.GOGC)
}
