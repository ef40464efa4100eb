package record

import (
	"fmt"

	"postage/internal/kit/words"
)

// World is the process that costs are measured in, which is like a service's.
type World struct {
	// LiveHeap is how many bytes live in the worker's heap beside the contender: a tree of small
	// nodes with pointers. It is 0 in a user's own benchmarks.
	LiveHeap int64 `json:"live_heap"`
	GOGC     int   `json:"gogc"`
	// Procs is GOMAXPROCS.
	Procs int `json:"procs"`
}

// DefaultWorld is a run's world if the user sets none. With 16 MB alive, a byte
// costs about as much to collect as with 1 GB: a collection costs in proportion to what lives, and
// comes after as many bytes. One processor does all of a contender's work, its collections too, as
// in a service whose processors are busy.
func DefaultWorld() World { return World{LiveHeap: 16 << 20, GOGC: 100, Procs: 1} }

// String describes the world: "16 MB alive, GOGC=100, 1 processor".
func (w *World) String() string {
	return fmt.Sprintf("%s alive, GOGC=%d, %s", megabytes(w.LiveHeap), w.GOGC, words.Counted(w.Procs, "processor"))
}

// megabytes writes a size as the user gave it: by powers of ten if it is a whole number of those.
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
