package load

import (
	"time"

	"golang.org/x/sys/unix"
)

// sharpen makes the kernel wake this thread on time. By default timers may be 50 us late.
func sharpen() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }

// blunt undoes sharpen: 0 restores the thread's default.
func blunt() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) }

// sleep sleeps in the kernel.
func sleep(d time.Duration) {
	spec := unix.NsecToTimespec(d.Nanoseconds())
	_ = unix.Nanosleep(&spec, nil)
}
