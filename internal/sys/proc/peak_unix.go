//go:build unix

package proc

import "golang.org/x/sys/unix"

// PeakMemory is the peak resident memory of this process in bytes, 0 where unknown.
func PeakMemory() int64 {
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return int64(usage.Maxrss) * maxrssUnit
}
