package proc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// CPU is the CPU time, user and system, of all threads of this process.
//
// It is the same clock as CPUOf's: the nanoseconds that the kernel's scheduler gave the threads,
// see clock_getcpuclockid(3). The calling thread's share is exact; another thread's latest use may
// be added only at the kernel's next tick (1 to 10 ms).
func CPU() (time.Duration, bool) {
	d, err := clock(unix.CLOCK_PROCESS_CPUTIME_ID)
	return d, err == nil
}

// CPUOf is the CPU time of another process, by the same clock: exact while it sleeps.
// Its error wraps [ErrNotAvailable].
//
// Note: /proc/PID/stat counts in ticks of 10 ms, and /proc/PID/schedstat counts nanoseconds of the
// first thread only.
func CPUOf(pid int) (time.Duration, error) {
	const sched, greatest = 2, 1 << 22 // CPUCLOCK_SCHED, PID_MAX_LIMIT
	if pid < 1 || pid > greatest {
		return 0, fmt.Errorf("CPU time of process %d: %w: no such process", pid, ErrNotAvailable)
	}
	d, err := clock(int32(^pid<<3 | sched))
	if err != nil {
		return 0, fmt.Errorf("CPU time of process %d: %w: %w", pid, ErrNotAvailable, err)
	}
	return d, nil
}

func clock(id int32) (time.Duration, error) {
	var t unix.Timespec
	err := unix.ClockGettime(id, &t)
	return time.Duration(t.Nano()), err
}

// MemoryOf is the resident memory of a process, in bytes. Its error wraps [ErrNotAvailable].
func MemoryOf(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("memory of process %d: %w: %w", pid, ErrNotAvailable, err)
	}
	_, after, _ := bytes.Cut(status, []byte("VmRSS:"))
	kib, _, _ := bytes.Cut(after, []byte(" kB"))
	n, err := strconv.ParseInt(string(bytes.TrimSpace(kib)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("memory of process %d: %w: the process has none", pid, ErrNotAvailable)
	}
	return n << 10, nil
}

// maxrssUnit: getrusage(2) counts in KiB.
const maxrssUnit = 1 << 10
