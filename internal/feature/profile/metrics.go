package profile

import (
	"bufio"
	"io"
	"strconv"
	"strings"
)

// Counters is what a server has counted since it started, by the names of Prometheus' Go client.
type Counters map[string]float64

// The counters that are read. gc, all and idle are the runtime's own estimates: time in
// collections, the time that its processors could have worked, and the idle part of it. They are
// wall time, and can be compared only with each other (runtime/metrics).
const (
	cpuCounter   = "process_cpu_seconds_total"
	gcCounter    = "go_cpu_classes_gc_total_cpu_seconds_total"
	allCounter   = "go_cpu_classes_total_cpu_seconds_total"
	idleCounter  = "go_cpu_classes_idle_cpu_seconds_total"
	bytesCounter = "go_memstats_alloc_bytes_total"
)

// ReadCounters reads the counters from Prometheus' text format.
func ReadCounters(r io.Reader) Counters {
	c := Counters{}
	lines := bufio.NewScanner(io.LimitReader(r, 64<<20))
	for lines.Scan() {
		name, text, _ := strings.Cut(lines.Text(), " ")
		switch name {
		case cpuCounter, gcCounter, allCounter, idleCounter, bytesCounter:
			if v, err := strconv.ParseFloat(text, 64); err == nil {
				c[name] = v
			}
		}
	}
	return c
}

// Metrics is what servers say about the time in which they were profiled.
type Metrics struct {
	Cores float64 `json:"cores"`
	// Garbage is the share of collections. GarbageNS is how many ns collecting a byte takes. Each is
	// nil if the servers do not export it.
	Garbage   *float64 `json:"garbage"`
	GarbageNS *float64 `json:"garbage_ns_byte"`
}

// MetricsOf compares two readings of servers' counters, so many seconds apart. It leaves out a
// server that has only one of them, and returns nil if no server exports its processor time.
func MetricsOf(before, after map[string]Counters, seconds float64) *Metrics {
	c := Counters{}
	for server, now := range after {
		for name, was := range before[server] {
			if is, there := now[name]; there {
				c[name] += is - was
			}
		}
	}
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
