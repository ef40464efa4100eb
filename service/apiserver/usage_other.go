//go:build !linux

package apiserver

import (
	"fmt"
	"time"
)

// CPU is the time, user and system, that all threads of a process have used.
func CPU(int) (time.Duration, error) {
	return 0, fmt.Errorf("apiserver: CPU time of another process: %w on this system", ErrNotAvailable)
}

// Memory is the resident memory of a process, in bytes.
func Memory(int) (int64, error) {
	return 0, fmt.Errorf("apiserver: memory of another process: %w on this system", ErrNotAvailable)
}

// volatile says whether a folder's file system is in memory, as far as this system tells.
func volatile(string) bool { return false }

// inMemory is a folder whose file system is in memory, "" as far as this system tells.
func inMemory() string { return "" }
