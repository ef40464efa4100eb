package store

import (
	"bytes"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
)

// peakOf does the work, and returns the peak of this process's resident memory in bytes meanwhile,
// or 0 if the kernel does not report it (only Linux does; see proc_pid_status(5)).
//
// The heap is as large as the contender's garbage makes it: with GOGC at 100, about twice what is
// live.
func peakOf(work func() error) (int64, error) {
	debug.FreeOSMemory()
	// 5 resets the peak to the currently resident memory, see proc_pid_clear_refs(5)
	resets := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) == nil
	if err := work(); err != nil {
		return 0, fmt.Errorf("store: peak memory: %w", err)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil || !resets {
		return 0, nil
	}
	_, after, _ := bytes.Cut(status, []byte("VmHWM:"))
	kib, _, _ := bytes.Cut(after, []byte(" kB"))
	n, err := strconv.ParseInt(string(bytes.TrimSpace(kib)), 10, 64)
	if err != nil {
		return 0, nil
	}
	return n << 10, nil
}
