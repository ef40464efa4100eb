//go:build unix

package lab

import (
	"time"

	"golang.org/x/sys/unix"
)

// ProcessCPU is the user and system time that this process has used.
func ProcessCPU() (time.Duration, bool) {
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &usage) != nil {
		return 0, false
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), true
}

// peakMemory is the peak resident memory of this process in bytes, 0 where unknown.
func peakMemory() int64 {
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return int64(usage.Maxrss) * maxrssUnit
}
