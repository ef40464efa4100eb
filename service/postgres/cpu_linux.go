package postgres

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of the CPU times in /proc/PID/stat. USER_HZ is 100 on every architecture that Go runs on.
const tick = 10 * time.Millisecond

// processCPU is utime + stime of /proc/PID/stat, see proc_pid_stat(5), unless the kernel has it more exactly.
func processCPU(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("postgres: CPU time of process %d: %w: %w", pid, ErrNotAvailable, err)
	}
	if d, ok := runTime(pid); ok {
		return d, nil
	}
	// The second field is the program's name in parentheses, which may itself hold any character.
	end := bytes.LastIndexByte(text, ')')
	fields := strings.Fields(string(text[end+1:])) // from the third field, "state", on
	if end < 0 || len(fields) < 13 {
		return 0, fmt.Errorf("postgres: CPU time of process %d: %w: unknown format of /proc", pid, ErrNotAvailable)
	}
	user, _ := strconv.ParseInt(fields[14-3], 10, 64)
	system, _ := strconv.ParseInt(fields[15-3], 10, 64)
	return time.Duration(user+system) * tick, nil
}

// runTime is the CPU time of a process with one thread in nanoseconds, if the kernel has it in schedstat.
func runTime(pid int) (time.Duration, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	if err != nil {
		return 0, false
	}
	first, _, _ := strings.Cut(string(text), " ")
	n, err := strconv.ParseInt(first, 10, 64)
	return time.Duration(n), err == nil && n > 0
}
