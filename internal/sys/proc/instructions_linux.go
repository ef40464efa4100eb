package proc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Instructions counts what all threads of this process execute in user mode, also threads that
// have ended and threads to come.
//
// The same loop takes the same number to a few in a million; code that allocates varies with the
// garbage collector. Source: perf_event_open(2).
type Instructions struct{ files []int }

// OpenInstructions begins to count. Its error wraps [ErrNotAvailable]: in containers, and on many
// virtual machines, the counters cannot be opened.
func OpenInstructions() (*Instructions, error) {
	return openCounter(unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_INSTRUCTIONS, unix.PerfEventOpen)
}

func openCounter(kind uint32, config uint64, open func(attr *unix.PerfEventAttr, pid, cpu, group, flags int) (int, error)) (*Instructions, error) {
	attr := attributes(kind, config)
	// Inheritance does not cover existing threads. A thread that starts meanwhile may be counted
	// twice or not at all: then try again.
	for range 10 {
		before, err := threadsOf("self")
		if err != nil {
			return nil, fmt.Errorf("count instructions: %w: %w", ErrNotAvailable, err)
		}
		c := &Instructions{}
		for _, thread := range before {
			file, err := open(attr, thread, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
			if err != nil {
				return nil, errors.Join(fmt.Errorf("count instructions: %w: perf_event_open: %w", ErrNotAvailable, err), c.Close())
			}
			c.files = append(c.files, file)
		}
		if after, err := threadsOf("self"); err == nil && slices.Equal(before, after) {
			return c, nil
		}
		if err := c.Close(); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("count instructions: %w: threads come and go", ErrNotAvailable)
}

// attributes describe a counter that threads inherit from the thread that starts them.
func attributes(kind uint32, config uint64) *unix.PerfEventAttr {
	attr := unix.PerfEventAttr{
		Type: kind, Config: config,
		Bits:        unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv | unix.PerfBitInherit,
		Read_format: unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING,
	}
	attr.Size = uint32(unsafe.Sizeof(attr))
	return &attr
}

// Count is the number of instructions so far; ok is false if the processor's counters were shared
// with others, so that the number would be an estimate, and of a nil counter.
func (c *Instructions) Count() (n int64, ok bool) {
	if c == nil {
		return 0, false
	}
	var text [24]byte // value, time enabled, time running
	for _, file := range c.files {
		if got, err := unix.Read(file, text[:]); err != nil || got != len(text) {
			return 0, false
		}
		if binary.NativeEndian.Uint64(text[8:]) != binary.NativeEndian.Uint64(text[16:]) {
			return 0, false
		}
		n += int64(binary.NativeEndian.Uint64(text[:]))
	}
	return n, true
}

// Close ends counting.
func (c *Instructions) Close() error {
	var errs []error
	for _, file := range c.files {
		errs = append(errs, unix.Close(file))
	}
	c.files = nil
	return errors.Join(errs...)
}
