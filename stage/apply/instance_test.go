package apply

import (
	"slices"
	"testing"

	"postage/lab"
)

// As many operations as there are lanes are one for each, however fast some lanes are: the proof looks at what every
// lane did.
func TestLanes(t *testing.T) {
	const lanes = 8
	for n := 1; n <= 3*lanes; n++ {
		did := make([]int, lanes)
		in := &instance{lanes: make([]lane, lanes)}
		for i := range in.lanes {
			in.lanes[i] = lane{in: in, next: i, latencies: lab.NewLatencies()}
		}
		in.op.do = func(l *lane) error { did[l.next]++; return nil }
		for range 50 {
			clear(did)
			if err := in.Run(n); err != nil {
				t.Fatal(err)
			}
			total := 0
			for _, d := range did {
				total += d
			}
			if least := slices.Min(did); total != n || least == 0 && n >= lanes {
				t.Fatalf("%d operations are %v", n, did)
			}
		}
	}
}
