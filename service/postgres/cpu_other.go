//go:build !linux

package postgres

import (
	"fmt"
	"time"
)

func processCPU(int) (time.Duration, error) {
	return 0, fmt.Errorf("postgres: CPU time of the server: %w on this system", ErrNotAvailable)
}
