//go:build !linux

package proc

import "fmt"

// Instructions counts what all threads of this process execute in user mode: not known on this
// system.
type Instructions struct{}

// OpenInstructions fails on this system; its error wraps [ErrNotAvailable].
func OpenInstructions() (*Instructions, error) {
	return nil, fmt.Errorf("count instructions: %w on this system", ErrNotAvailable)
}

// Count is not known.
func (*Instructions) Count() (n int64, ok bool) { return 0, false }

// Close does nothing.
func (*Instructions) Close() error { return nil }
