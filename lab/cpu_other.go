//go:build !unix

package lab

import "time"

// processCPU is not known on this operating system.
func processCPU() (time.Duration, bool) { return 0, false }

// peakMemory is not known on this operating system.
func peakMemory() int64 { return 0 }
