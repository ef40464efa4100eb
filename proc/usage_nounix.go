//go:build !unix

package proc

import "time"

// CPU is not known on this system.
func CPU() (time.Duration, bool) { return 0, false }

// PeakMemory is not known on this system.
func PeakMemory() int64 { return 0 }
