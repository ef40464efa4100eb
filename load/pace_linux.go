package load

import (
	"time"

	"golang.org/x/sys/unix"
)

// sharpen asks the kernel not to be lazy about this thread's timers (by default, 50 us).
func sharpen() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }

// blunt takes that back: 0 is what the thread was made with.
func blunt() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) }

// sleep sleeps in the kernel.
func sleep(d time.Duration) {
	spec := unix.NsecToTimespec(d.Nanoseconds())
	_ = unix.Nanosleep(&spec, nil)
}
