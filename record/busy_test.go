package record

import (
	"slices"
	"testing"
)

// What batches waited for says whether the machine was busy, whatever its load was before; only
// where none could tell, the load, steal and pressure before do.
func TestBusy(t *testing.T) {
	for _, r := range []struct {
		name                  string
		value                 Value
		cpu                   []int64 // of batches of 100 ns
		load, steal, pressure float64
		waited                float64 // -1 if not known
		busy                  bool
	}{
		{"quiet", ValueCost, []int64{99, 100, 98}, 0.2, 0, 0, 0.01, false},
		{"after a build", ValueCost, []int64{99, 100, 98}, 4.3, 0, 12, 0.01, false},
		{"others beside it", ValueCost, []int64{60, 100, 50}, 0.2, 0, 0, 0.3, true},
		{"collections on another processor", ValueCost, []int64{180, 90, 100}, 0.2, 0, 0, 1. / 30, false},
		{"waits for a server", ValueWall, []int64{10, 20, 10}, 0.2, 0, 0, -1, false},
		{"loaded, with a server", ValueWall, []int64{10, 20, 10}, 1.1, 0, 0, -1, true},
		{"stolen from, with a server", ValueWall, []int64{10, 20, 10}, 0.2, 6, 0, -1, true},
		{"no CPU time of one batch", ValueCost, []int64{100, 0, 100}, 0.2, 0, 0, 0, false},
		{"no CPU time", ValueCost, nil, 0.2, 0, 11, -1, true},
	} {
		rec := &Record{
			Machine: Machine{Cores: 2, Load: &r.load, StealPercent: &r.steal, PressurePercent: &r.pressure},
			Rows:    []Row{{Name: "a", Value: r.value}},
			Blocks:  []Block{{Series: []Series{{Row: "a", WallNS: []int64{100, 100, 100}, CPUNS: r.cpu}}}},
		}
		waited, ok := rec.Waited()
		if !ok {
			waited = -1
		}
		if d := waited - r.waited; d > 1e-9 || d < -1e-9 || rec.Busy() != r.busy {
			t.Errorf("%s: waited %v, busy %t, want %v, %t", r.name, waited, rec.Busy(), r.waited, r.busy)
		}
	}
}

// A batch whose CPU time is not known is none that took no time: a figure of the others is right.
func TestUnknownCPUTime(t *testing.T) {
	for _, of := range []struct {
		cpu  []int64
		want []float64
	}{{[]int64{60, 0, 0}, []float64{6}}, {[]int64{0, 0}, nil}, {[]int64{60, 80}, []float64{6, 8}}, {nil, nil}} {
		s := Series{CPUNS: of.cpu, WallNS: []int64{100, 100, 100}, Bytes: make([]int64, 3), Allocs: make([]int64, 3)}
		if got := s.CPUNSPerOp(10); !slices.Equal(got, of.want) {
			t.Errorf("%v ns in batches of 10: %v an operation, want %v", of.cpu, got, of.want)
		}
		told := false
		for _, v := range (&Record{Machine: Machine{GOOS: "linux", GOARCH: "amd64"}}).result(&Row{N: 10, Name: "a"}, &s).Values {
			if v.Unit == ClientCPU {
				told = true
			}
		}
		if told != (of.want != nil) {
			t.Errorf("%v ns: a result has %s: %t", of.cpu, ClientCPU, told)
		}
	}
}
