package profile

import (
	"strings"
	"testing"
)

// The runtime counts collections by wall time: on a machine that others use, they can take more of
// it than the process took of CPU time. Their share is of what the runtime says that it used.
func TestMetricsOfBusyMachine(t *testing.T) {
	c := ReadCounters(strings.NewReader(`process_cpu_seconds_total 2
go_cpu_classes_gc_total_cpu_seconds_total 3
go_cpu_classes_total_cpu_seconds_total 20
go_cpu_classes_idle_cpu_seconds_total 8
go_memstats_alloc_bytes_total 1e+09
`))
	over := func() *Metrics {
		return MetricsOf(map[string]Counters{"a": {cpuCounter: 0, gcCounter: 0, allCounter: 0, idleCounter: 0, bytesCounter: 0}, "gone": {cpuCounter: 1}}, map[string]Counters{"a": c, "new": {cpuCounter: 100}}, 4)
	}
	m := over()
	if m == nil || m.Cores != 0.5 || m.Garbage == nil || *m.Garbage != 0.25 || m.GarbageNS == nil || *m.GarbageNS != 0.5 {
		t.Errorf("%+v, want half a core, 0.25 of it for garbage, 0.5 ns a byte", m)
	}
	delete(c, allCounter)
	if m := over(); m == nil || m.Garbage != nil {
		t.Errorf("%+v: a share of what is not known", m)
	}
}
