package proc

import (
	"fmt"
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

const sched = 2 // CPUCLOCK_SCHED

// CPUOf is the CPU time of another process, by the same clock: exact while it sleeps.
// Its error wraps [ErrNotAvailable].
//
// Note: /proc/PID/stat counts in ticks of 10 ms, and /proc/PID/schedstat counts nanoseconds of the
// first thread only.
func CPUOf(pid int) (time.Duration, error) {
	const greatest = 1 << 22 // PID_MAX_LIMIT
	if pid < 1 || pid > greatest {
		return 0, fmt.Errorf("CPU time of process %d: %w: no such process", pid, ErrNotAvailable)
	}
	d, err := clock(int32(^pid<<3 | sched))
	if err != nil {
		return 0, fmt.Errorf("CPU time of process %d: %w: %w", pid, ErrNotAvailable, err)
	}
	return d, nil
}

// monitor is the thread of the Go runtime's monitor, 0 if it is not known: the second thread of a
// Go process, which the runtime starts before any package is initialised (runtime/proc.go, main).
var monitor = secondThread()

// secondThread is the id of the thread that was made after the first one.
func secondThread() int {
	threads, err := threadsOf("self")
	if err != nil || len(threads) < 2 {
		return 0
	}
	return threads[1]
}

// CPUOfCode is CPU, without the thread of the Go runtime's monitor where that is known.
//
// The monitor (sysmon) sleeps while the process waits for a system call. When the process goes on,
// it looks around every 20 us, and only after some milliseconds less often: up to 1 ms, now more
// and now less. That is a tenth of a batch, which its code has not caused.
func CPUOfCode() (time.Duration, bool) {
	all, known := CPU()
	if monitor == 0 {
		return all, known
	}
	const thread = 4 // CPUCLOCK_PERTHREAD_MASK
	its, err := clock(int32(^monitor<<3 | thread | sched))
	if err != nil {
		return all, known
	}
	return all - its, known
}

func clock(id int32) (time.Duration, error) {
	var t unix.Timespec
	err := unix.ClockGettime(id, &t)
	return time.Duration(t.Nano()), err
}
