package record

import "strings"

// Role says what a row is for.
type Role string

const (
	RoleContender Role = "contender"
	RoleBaseline  Role = "baseline"
	RoleControl   Role = "control" // the baseline a second time: its ratio must cover 1
	RoleFloor     Role = "floor"   // does the least any contender could; never a recommendation
)

// Value is the quantity that a row is compared by. The case decides it, never the data.
type Value string

const (
	// ValueCost is for contenders alone in their process: the CPU time that the whole process
	// spends on an operation, including its goroutines and collections.
	ValueCost Value = "cost"
	// ValueWall is for contenders that wait, for a server or for goroutines of their own: the mean
	// over the rounds of the logarithms of wall time, against the other's in the same rounds.
	ValueWall Value = "mean-wall"
)

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
