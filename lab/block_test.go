package lab

import (
	"runtime"
	"testing"
	"time"

	"postage/record"
)

// A batch is flagged for what others took from it, not for what its own client and server
// took from each other.
func TestDisturbed(t *testing.T) {
	const wall = 10 * time.Millisecond
	own := func(cpu time.Duration, counters map[string]float64) *batch {
		return &batch{WallNS: wall.Nanoseconds(), CPUNS: cpu.Nanoseconds(), Counters: counters}
	}
	all := time.Duration(runtime.NumCPU()) * wall
	for _, c := range []struct {
		what  string
		batch *batch
		after record.Disturbance
		want  string
	}{
		{"nothing", own(wall, nil), record.Disturbance{}, ""},
		{"steal", own(wall, nil), record.Disturbance{Steal: 1}, "steal"},
		{"others' pressure", own(wall, nil), record.Disturbance{Pressure: wall / 2}, "pressure"},
		{"a client and a server that use all processors", own(all/2, map[string]float64{"server-cpu-ns/op": float64(all / 2)}), record.Disturbance{Pressure: wall}, ""},
		{"the same, and others", own(all/4, map[string]float64{"server-cpu-ns/op": float64(all / 4)}), record.Disturbance{Pressure: wall}, "pressure"},
		{"a server whose client's CPU is unknown", &batch{CPUNS: -1, Counters: map[string]float64{"server-cpu-ns/op": float64(all)}}, record.Disturbance{Pressure: wall}, "pressure"},
	} {
		if got := disturbed(record.Disturbance{}, c.after, wall, selfMade(c.batch)); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}
