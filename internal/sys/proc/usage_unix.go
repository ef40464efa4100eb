//go:build unix && !linux

package proc

import (
	"time"

	"golang.org/x/sys/unix"
)

// CPU is the CPU time, user and system, of all threads of this process, see getrusage(2).
func CPU() (time.Duration, bool) {
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &usage) != nil {
		return 0, false
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), true
}

// CPUOfCode is [CPU]: the share of the Go runtime's monitor is not known on this system.
func CPUOfCode() (time.Duration, bool) { return CPU() }
