package record

import (
	"strings"
)

// Role says what a row is for.
type Role string

const (
	RoleContender Role = "contender"
	RoleBaseline  Role = "baseline"
	RoleControl   Role = "control" // the baseline a second time: its ratio must cover 1
	RoleFloor     Role = "floor"   // does the least any contender could; never a recommendation
)

// Value says what the times of a block's batches are made into, so that one row can be
// compared with another. What the case is decides, never its data.
type Value string

const (
	// ValuePieces is of contenders alone in their process: the wall time of a block's fast pieces,
	// and the CPU time of collections for what they allocate. A row whose batches are not timed in
	// pieces, and what is compared with it, has ValueHalfCPU.
	ValuePieces Value = "pieces"
	// ValueHalfCPU is the CPU time of the fastest half of the batches, with the cost of collections
	// taken out and put back at the row's rate.
	ValueHalfCPU Value = "half-cpu"
	// ValueFastCPU is the same of the fastest quarter: of Go benchmarks, and in older records.
	ValueFastCPU Value = "fast-cpu"
	// ValueFastWall is that quarter's wall time, for contenders that may wait.
	ValueFastWall Value = "fast-wall"
	// ValueMeanWall is of contenders with a server: the mean over the rounds of the
	// logarithms of wall time, against the other's in the same rounds.
	ValueMeanWall Value = "mean-wall"
	// ValueMedianWall is the median of the same, in older records.
	ValueMedianWall Value = ""
)

// IsCPU reports whether the value is of what uses the processor, and not of waiting.
func (v Value) IsCPU() bool { return v == ValuePieces || v == ValueHalfCPU || v == ValueFastCPU }

// IsFast reports whether the value is of the fast batches alone, so that there may be a tail.
func (v Value) IsFast() bool { return v.IsCPU() || v == ValueFastWall }

// Proof says whether a row did its work: "ok", or one of the other constants with the
// reason behind it.
type Proof string

const (
	ProofOK          Proof = "ok"
	ProofFailed      Proof = "failed: "
	ProofNotPossible Proof = "not possible: "
	ProofNotMeasured Proof = "not measured: " // the budget or an interruption came first
)

// Because is the proof with a reason behind it.
func (p Proof) Because(reason string) Proof { return p + Proof(reason) }

// Is says whether the proof is of a kind, whatever the reason.
func (p Proof) Is(kind Proof) bool { return strings.HasPrefix(string(p), string(kind)) }
