// Package machine reads what a record says of the machine.
package machine

import (
	"runtime"

	"postage/internal/sys/proc"
	"postage/record"
)

// portable is what is known on every operating system.
func portable() record.Machine {
	m := record.Machine{GOOS: runtime.GOOS, GOARCH: runtime.GOARCH, Cores: runtime.NumCPU(), Go: runtime.Version(), Counters: "available"}
	if counter, err := proc.OpenInstructions(); err != nil {
		m.Counters = err.Error()
	} else {
		_ = counter.Close()
	}
	return m
}
