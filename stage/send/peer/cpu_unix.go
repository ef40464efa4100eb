//go:build unix

package peer

import "syscall"

// processCPU is the user and system time of this process in nanoseconds.
func processCPU() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return -1
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}
