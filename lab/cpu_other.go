//go:build !unix

package lab

import "time"

// ProcessCPU is not known on this operating system.
func ProcessCPU() (time.Duration, bool) { return 0, false }

// peakMemory is not known on this operating system.
func peakMemory() int64 { return 0 }
