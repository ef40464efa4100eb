package profile

import (
	"strings"
	"testing"
)

// The runtime counts collections by wall time: on a machine that others use, they can take more of
// it than the process took of CPU time. Their share is of what the runtime says that it used.
func TestMetricsOfBusyMachine(t *testing.T) {
	c := Counters{}
	c.Add(strings.NewReader(`process_cpu_seconds_total 2
go_cpu_classes_gc_total_cpu_seconds_total 3
go_cpu_classes_total_cpu_seconds_total 20
go_cpu_classes_idle_cpu_seconds_total 8
go_memstats_alloc_bytes_total 1e+09
`), 1)
	m := c.Over(4)
	if m == nil || m.Cores != 0.5 || m.Garbage == nil || *m.Garbage != 0.25 || m.GarbageNS == nil || *m.GarbageNS != 0.5 {
		t.Errorf("%+v, want half a core, 0.25 of it for garbage, 0.5 ns a byte", m)
	}
	delete(c, allCounter)
	if m := c.Over(4); m == nil || m.Garbage != nil {
		t.Errorf("%+v: a share of what is not known", m)
	}
}
