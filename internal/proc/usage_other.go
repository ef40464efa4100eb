//go:build !linux

package proc

import (
	"fmt"
	"time"
)

// CPUOf is not known on this system.
func CPUOf(int) (time.Duration, error) {
	return 0, fmt.Errorf("CPU time of another process: %w on this system", ErrNotAvailable)
}

// MemoryOf is not known on this system.
func MemoryOf(int) (int64, error) {
	return 0, fmt.Errorf("memory of another process: %w on this system", ErrNotAvailable)
}
