package record

import (
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

// Where the CPU time of a batch is not known, a row has no CPU time, and its cost is wall time.
func TestUnknownCPUTime(t *testing.T) {
	for _, of := range []struct {
		cpu   []int64
		cost  float64
		known bool
	}{{[]int64{60, 0, 60}, 10, false}, {[]int64{60, 80, 70}, 7, true}, {nil, 10, false}} {
		s := Series{CPUNS: of.cpu, WallNS: []int64{100, 100, 100}, Bytes: make([]int64, 3), Allocs: make([]int64, 3)}
		if got := s.CostPerOp(10); got != of.cost {
			t.Errorf("%v ns in batches of 10: %v an operation, want %v", of.cpu, got, of.cost)
		}
		told := false
		for _, v := range (&Record{Machine: Machine{GOOS: "linux", GOARCH: "amd64"}}).result(&Row{N: 10, Name: "a"}, &s).Values {
			told = told || v.Unit == ClientCPU
		}
		if told != of.known {
			t.Errorf("%v ns: a result has %s: %t", of.cpu, ClientCPU, told)
		}
	}
}
