package record

import (
	"cmp"
	"fmt"
	"strconv"
)

// Machine is the environment that a run was measured in. What could not be found out
// is empty or nil.
type Machine struct {
	GOOS   string `json:"goos"`
	GOARCH string `json:"goarch"`
	CPU    string `json:"cpu,omitempty"` // the processor's model
	// CPUDetail tells processors of one name apart: "family 25, model 1, stepping 1, cache 512 KB".
	CPUDetail string `json:"cpu_detail,omitempty"`
	Cores     int    `json:"cores"` // logical processors that the process may use
	// MemoryBytes is the machine's physical memory.
	MemoryBytes int64  `json:"memory_bytes,omitempty"`
	Kernel      string `json:"kernel,omitempty"`
	// Virtualised is "yes", or "none" on bare metal; in older records it is the hypervisor.
	Virtualised string `json:"virtualised,omitempty"`
	// Governor sets the first processor's frequency: "performance", "powersave" …
	Governor string `json:"governor,omitempty"`
	Go       string `json:"go"`
	// Load is the one-minute load average.
	Load *float64 `json:"load,omitempty"`
	// StealPercent is the share of processor time that the hypervisor gave to others,
	// and PressurePercent that during which some task waited for a processor, both
	// over the sampling time.
	StealPercent    *float64 `json:"steal_percent,omitempty"`
	PressurePercent *float64 `json:"pressure_percent,omitempty"`
	// Counters is "available", or why hardware performance counters are not.
	Counters string `json:"counters,omitempty"`
}

// Identity names the machine: figures of records with different identities must not be compared.
// Kernel, Go and load are not part of it.
func (m *Machine) Identity() string {
	memory := "unknown memory"
	if m.MemoryBytes > 0 {
		// To the GiB: the kernel keeps a little more or less for itself after an update.
		memory = strconv.FormatInt((m.MemoryBytes+1<<29)>>30, 10) + " GiB"
	}
	cpu := cmp.Or(m.CPU, "unknown processor")
	if m.CPUDetail != "" {
		cpu += " (" + m.CPUDetail + ")"
	}
	virtualised := cmp.Or(m.Virtualised, "unknown")
	if virtualised != "unknown" && virtualised != "none" { // an older record has a name
		virtualised = "yes"
	}
	return fmt.Sprintf("%s/%s, %s, %d cores, %s, virtualised: %s", m.GOOS, m.GOARCH, cpu, m.Cores, memory, virtualised)
}
