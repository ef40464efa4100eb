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

// Processors are not known on this system.
func Processors() ([]int, error) {
	return nil, fmt.Errorf("the processors of a process: %w on this system", ErrNotAvailable)
}

// Assign is not possible on this system.
func Assign(int, int) error {
	_, err := Processors()
	return err
}
