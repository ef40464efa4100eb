package route

import (
	"testing"

	"postage/record"
)

// A batch whose CPU time is not known is left out, with what its server took.
func TestUnknownCPUTime(t *testing.T) {
	row := &record.Row{Name: "r", N: 10, Proof: record.ProofOK}
	block := &record.Block{Series: []record.Series{{Row: "r", CPUNS: []int64{60, 0, 80}, Counters: map[string][]float64{record.ServerCPU: {40, 1000, 20}}}}}
	if ns, ok := cpu(block, row); !ok || ns != 10 {
		t.Errorf("%v ns an operation, %v; want 10 of the two batches that are known", ns, ok)
	}
	block.Series[0].CPUNS = []int64{0, 0, 0}
	if ns, ok := cpu(block, row); ok {
		t.Errorf("%v ns an operation where nothing is known", ns)
	}
}
