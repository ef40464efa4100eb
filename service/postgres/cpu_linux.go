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

// stat is what we need of /proc/PID/stat, see proc_pid_stat(5).
type stat struct {
	parent   int
	own      time.Duration // utime + stime
	children time.Duration // cutime + cstime: of children that have ended and were waited for
}

func readStat(pid int) (stat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, fmt.Errorf("postgres: CPU time of process %d: %w: %w", pid, ErrNotAvailable, err)
	}
	// The second field is the program's name in parentheses, which may itself hold any character.
	end := bytes.LastIndexByte(text, ')')
	fields := strings.Fields(string(text[end+1:])) // from the third field, "state", on
	if end < 0 || len(fields) < 15 {
		return stat{}, fmt.Errorf("postgres: CPU time of process %d: %w: unknown format of /proc", pid, ErrNotAvailable)
	}
	number := func(field int) time.Duration {
		n, _ := strconv.ParseInt(fields[field-3], 10, 64)
		return time.Duration(n)
	}
	return stat{parent: int(number(4)), own: (number(14) + number(15)) * tick, children: (number(16) + number(17)) * tick}, nil
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

func processCPU(pid int) (time.Duration, error) {
	s, err := readStat(pid)
	if err != nil {
		return 0, err
	}
	if d, ok := runTime(pid); ok {
		return d, nil
	}
	return s.own, nil
}

// treeCPU adds up a postmaster, its living children and those that ended. Backends are the postmaster's own children.
func treeCPU(pid int) (time.Duration, error) {
	for {
		before, err := readStat(pid)
		if err != nil {
			return 0, err
		}
		total, err := livingCPU(pid)
		if err != nil {
			return 0, err
		}
		after, err := readStat(pid)
		if err != nil {
			return 0, err
		}
		// A child that ended meanwhile may have been counted with the living, with those that ended, or with
		// neither: then we look again.
		if after.children == before.children {
			return total + after.children, nil
		}
	}
}

// livingCPU adds up a postmaster and its children.
func livingCPU(pid int) (time.Duration, error) {
	total, err := processCPU(pid)
	if err != nil {
		return 0, err
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, fmt.Errorf("postgres: %w: %w", ErrNotAvailable, err)
	}
	for _, e := range entries {
		child, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if s, err := readStat(child); err == nil && s.parent == pid {
			if d, err := processCPU(child); err == nil {
				total += d
			}
		}
	}
	return total, nil
}
