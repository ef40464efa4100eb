package apiserver

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// CPU is the time, user and system, that all threads of a process have used: the process's own clock, see
// clock_getcpuclockid(3). It is exact for threads that sleep; what a running one uses may be added at the kernel's next
// tick only (4 ms where it was looked at). /proc/PID/stat counts in ticks of 10 ms.
func CPU(pid int) (time.Duration, error) {
	const sched = 2 // CPUCLOCK_SCHED
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|sched), &t); err != nil {
		return 0, fmt.Errorf("apiserver: CPU time of process %d: %w: %w", pid, ErrNotAvailable, err)
	}
	return time.Duration(t.Nano()), nil
}

// Memory is the resident memory of a process, in bytes.
func Memory(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("apiserver: memory of process %d: %w: %w", pid, ErrNotAvailable, err)
	}
	_, after, _ := bytes.Cut(status, []byte("VmRSS:"))
	kib, _, _ := bytes.Cut(after, []byte(" kB"))
	n, err := strconv.ParseInt(string(bytes.TrimSpace(kib)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("apiserver: memory of process %d: %w", pid, ErrNotAvailable)
	}
	return n << 10, nil
}

// volatile says whether a folder's file system is in memory.
func volatile(dir string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(dir, &fs) == nil && (fs.Type == unix.TMPFS_MAGIC || fs.Type == unix.RAMFS_MAGIC)
}

// inMemory is a folder whose file system is in memory and has room for etcd, "" if there is none. Containers usually have
// 64 MB there, which etcd's log alone takes: the server would start, and die of it.
func inMemory() string {
	const shm, room = "/dev/shm", 512 << 20
	if !volatile(shm) || !hasRoom(shm, room) {
		return ""
	}
	return shm
}

// hasRoom says whether we may write so many bytes below a folder.
func hasRoom(dir string, bytes uint64) bool {
	var fs unix.Statfs_t
	return unix.Statfs(dir, &fs) == nil && fs.Bavail*uint64(fs.Bsize) >= bytes && unix.Access(dir, unix.W_OK) == nil
}
