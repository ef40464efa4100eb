package lab

import "time"

// The conductor speaks to a worker in lines of JSON: a request on the worker's
// standard input, one reply to each on its standard output, see [proc.Serve]. An
// earlier revision's program, which a run is against, speaks it too.

// What a request asks for.
const (
	opOpen      = "open"      // set up, prove
	opPopulate  = "populate"  // make Bytes of heap live
	opCalibrate = "calibrate" // find the N that takes TargetNS
	opWarm      = "warm"      // batches of N operations that are not timed
	opRun       = "run"       // one batch of N operations
	opClose     = "close"     // release everything and end
)

// noSuchRow begins the answer of a program that does not have the row that it is to open.
const noSuchRow = "open: this program has no row"

// unknownRequest begins the answer of a program that does not know the request.
const unknownRequest = "unknown request"

type request struct {
	Op       string `json:"op"`
	Row      string `json:"row,omitempty"`
	Seed     uint64 `json:"seed,omitempty"`
	Block    int    `json:"block,omitempty"` // of the case; draws where in its cycle the heap begins
	N        int    `json:"n,omitempty"`
	TargetNS int64  `json:"target_ns,omitempty"`
	Bytes    int64  `json:"bytes,omitempty"`
}

type reply struct {
	// Metrics and Instrument answer open.
	Metrics    map[string]float64 `json:"metrics,omitempty"`
	Instrument int                `json:"instrument,omitempty"`
	// N answers calibrate: the operations of a batch.
	N int `json:"n,omitempty"`
	// Batch answers run. More are the batches that followed until no collection was under way.
	Batch *Batch   `json:"batch,omitempty"`
	More  []*Batch `json:"more,omitempty"`
	// Latency answers close, where the contender keeps latencies: a base64 HDR
	// histogram (V2, compressed) of the block's batches, in nanoseconds.
	Latency string `json:"latency,omitempty"`
	// Warnings answers close: what a reader of the row must know.
	Warnings []string `json:"warnings,omitempty"`
}

// Batch is what one batch of operations cost.
type Batch struct {
	WallNS int64 `json:"wall_ns"`
	CPUNS  int64 `json:"cpu_ns"` // -1 where unknown
	Allocs int64 `json:"allocs"`
	Bytes  int64 `json:"bytes"`
	// Collections of garbage ended during the batch.
	Collections int64              `json:"collections"`
	Counters    map[string]float64 `json:"counters,omitempty"`
	// Took is how long the batch counts as where a Runner's batches get their size: its wall time, if 0.
	Took time.Duration `json:"-"`
}
