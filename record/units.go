package record

// Departs is the property of a contender that departs from a standard: from which, and how.
const Departs = "departs-from"

// Better begins the property that says which is better of a figure, "higher" or "lower":
// "better:hits/op".
const Better = "better:"

// The units of figures that more than one package looks for. Others are free.
const (
	EncodedBytes = "encoded-bytes"    // of what an operation encodes
	PackedBytes  = "packed-bytes"     // of what an operation encodes, compressed
	ClientCPU    = "client-cpu-ns/op" // CPU time of the contender's process
	Instructions = "instructions/op"  // of all the contender's process, in user mode
	ServerCPU    = "server-cpu-ns/op" // CPU time of its server
	WireOut      = "wire-out-B/op"    // sent, headers and TLS included
	WireIn       = "wire-in-B/op"
)
