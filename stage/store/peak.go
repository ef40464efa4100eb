package store

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"postage/internal/sys/proc"
)

// peakOf does the work, and returns the peak of this process's resident memory in bytes meanwhile,
// or 0 where the system does not report it.
//
// The heap is as large as the contender's garbage makes it: with GOGC at 100, about twice what is
// live.
func peakOf(work func() error) (int64, error) {
	debug.FreeOSMemory()
	unknown := proc.ResetPeak(os.Getpid())
	if err := work(); err != nil {
		return 0, fmt.Errorf("store: peak memory: %w", err)
	}
	if errors.Is(unknown, proc.ErrNotAvailable) {
		return 0, nil
	}
	n, err := proc.PeakOf(os.Getpid())
	return n, errors.Join(unknown, err)
}
