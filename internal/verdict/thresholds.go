package verdict

// Thresholds are by how much a row may be worse before it counts as regressed, as
// fractions: 0.05 is 5%.
type Thresholds struct {
	Time   float64 // ns/op
	Allocs float64 // allocs/op
	Bytes  float64 // B/op
	Size   float64 // the row's own figures, such as encoded-bytes
	// Instructions is for instructions/op, where the machine counts them.
	Instructions float64
	// Metrics are for figures that a benchmark reports itself, by unit: "hits/op". Others are not
	// gated.
	Metrics map[string]float64
	// OrSeen raises the threshold of a row's time to the smallest change that could be seen, at
	// most 10%. It is for a gate without a threshold of time.
	OrSeen bool
}

// MostSeen is the greatest threshold that OrSeen sets. Counts whose tolerance is greater are
// inconclusive.
const MostSeen = 0.10

// DefaultThresholds are the thresholds of a gate if the user sets none.
func DefaultThresholds() Thresholds { return Thresholds{Time: 0.03, Instructions: 0.03, OrSeen: true} }
