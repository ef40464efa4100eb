package profile

import (
	"bufio"
	"io"
	"strconv"
	"strings"
)

// Counters are what servers have counted of themselves since they began, by the names of
// Prometheus' Go client.
type Counters map[string]float64

// The counters that are read: processor time in use, and bytes allocated; and by the runtime's own
// estimates, which are of wall time and can be compared only with each other (runtime/metrics), the
// time in collections, all that its processors could have worked, and what they were idle of it.
const (
	cpuCounter   = "process_cpu_seconds_total"
	gcCounter    = "go_cpu_classes_gc_total_cpu_seconds_total"
	allCounter   = "go_cpu_classes_total_cpu_seconds_total"
	idleCounter  = "go_cpu_classes_idle_cpu_seconds_total"
	bytesCounter = "go_memstats_alloc_bytes_total"
)

// Add reads Prometheus' text format, and adds what it has of the counters, times a sign.
func (c Counters) Add(r io.Reader, sign float64) {
	lines := bufio.NewScanner(io.LimitReader(r, 64<<20))
	for lines.Scan() {
		name, text, _ := strings.Cut(lines.Text(), " ")
		switch name {
		case cpuCounter, gcCounter, allCounter, idleCounter, bytesCounter:
			if v, err := strconv.ParseFloat(text, 64); err == nil {
				c[name] += sign * v
			}
		}
	}
}

// Metrics are what servers say of the time in which they were profiled.
type Metrics struct {
	Cores float64 `json:"cores"`
	// Garbage is the share of collections, and GarbageNS what collecting a byte takes, in ns: the
	// price that `postage show --garbage` takes. nil if it is not exported.
	Garbage   *float64 `json:"garbage"`
	GarbageNS *float64 `json:"garbage_ns_byte"`
}

// Over is what the counters' differences over so many seconds say, nil without processor time.
func (c Counters) Over(seconds float64) *Metrics {
	cpu := c[cpuCounter]
	if cpu <= 0 || seconds <= 0 {
		return nil
	}
	m := &Metrics{Cores: cpu / seconds}
	if used := c[allCounter] - c[idleCounter]; used > 0 {
		m.Garbage = new(c[gcCounter] / used)
		if bytes := c[bytesCounter]; bytes > 0 {
			m.GarbageNS = new(*m.Garbage * cpu / bytes * 1e9)
		}
	}
	return m
}
