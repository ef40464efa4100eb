package lab

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
	opPlain     = "plain"     // N operations in one go, and nothing else
	opClose     = "close"     // release everything and end
)

// noSuchRow begins the answer of a program that does not have the row that it is to open.
const noSuchRow = "open: this program has no row"

// unknownRequest begins that of a program that does not know what it is asked.
const unknownRequest = "unknown request"

// instrument is what a worker is told by: a worker of an earlier revision whose batches are begun,
// ended or counted otherwise has another number, or none.
const instrument = 3

type request struct {
	Op       string `json:"op"`
	Row      string `json:"row,omitempty"`
	Seed     uint64 `json:"seed,omitempty"`
	Block    int    `json:"block,omitempty"` // of the case; draws where in its cycle the heap begins
	N        int    `json:"n,omitempty"`
	Pieces   int    `json:"pieces,omitempty"` // of a batch, which are timed each; 0 for one
	TargetNS int64  `json:"target_ns,omitempty"`
	GOGC     int    `json:"gogc,omitempty"` // open: nothing was collected before
	Bytes    int64  `json:"bytes,omitempty"`
	Collect  bool   `json:"collect,omitempty"` // plain: garbage, before it
}

type reply struct {
	// Metrics and Instrument answer open.
	Metrics    map[string]float64 `json:"metrics,omitempty"`
	Instrument int                `json:"instrument,omitempty"`
	// N and Pieces answer calibrate: the operations and pieces of a batch. N answers plain, too:
	// the operations of a part.
	N      int `json:"n,omitempty"`
	Pieces int `json:"pieces,omitempty"`
	// Rounds answers warm: of so many such batches there are enough pieces, 0 if there are none.
	Rounds int `json:"rounds,omitempty"`
	// Batch answers run.
	Batch *Batch `json:"batch,omitempty"`
	// Latency answers close, where the contender keeps latencies: a base64 HDR
	// histogram (V2, compressed) of the block's batches, in nanoseconds.
	Latency string `json:"latency,omitempty"`
	// Warnings answers close: what is to be told of the row.
	Warnings []string `json:"warnings,omitempty"`
	// CollectionBytes answers close, of a program that measures itself: the heap bytes allocated
	// from one collection to the next, 0 if that is not known.
	CollectionBytes int64 `json:"collection_bytes,omitempty"`
	// FastNS and FastEachNS answer close: see [record.Series].
	FastNS     int64   `json:"fast_ns,omitempty"`
	FastEachNS []int64 `json:"fast_each_ns,omitempty"`
	// Parts answer plain.
	Parts []Part `json:"parts,omitempty"`
}

// Batch is what one batch of operations cost.
type Batch struct {
	WallNS int64 `json:"wall_ns"`
	CPUNS  int64 `json:"cpu_ns"` // -1 where unknown
	Allocs int64 `json:"allocs"`
	Bytes  int64 `json:"bytes"`
	// Collections began during the batch; it waited for their end.
	Collections int64              `json:"collections"`
	Counters    map[string]float64 `json:"counters,omitempty"`
}
