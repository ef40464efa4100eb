//go:build !unix

package proc

import "time"

// CPU is not known on this system.
func CPU() (time.Duration, bool) { return 0, false }

// CPUOfCode is [CPU]: the share of the Go runtime's monitor is not known on this system.
func CPUOfCode() (time.Duration, bool) { return CPU() }
