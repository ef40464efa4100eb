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

// DefaultWorld is the one that runs are of, if nothing else is asked for. With 16 MB alive, a byte
// costs about as much to collect as with 1 GB: a collection costs in proportion to what lives, and
// comes after as many bytes. One processor does all of a contender's work, its collections too, as
// in a service whose processors are busy.
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
