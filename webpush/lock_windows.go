package webpush

import (
	"errors"
	"os"
	"syscall"
	"unsafe"
)

var lockFileEx = syscall.NewLazyDLL("kernel32.dll").NewProc("LockFileEx")

// lock keeps other processes from a journal, until the file is closed or the process ends. Locks
// here are mandatory: the byte that is locked is far behind the end, so that others can read.
func lock(file *os.File) error {
	const failImmediately, exclusive, errorLockViolation = 1, 2, syscall.Errno(33)
	at := syscall.Overlapped{OffsetHigh: 1 << 30}
	ok, _, err := lockFileEx.Call(file.Fd(), failImmediately|exclusive, 0, 1, 0, uintptr(unsafe.Pointer(&at)))
	switch {
	case ok != 0:
		return nil
	case errors.Is(err, errorLockViolation):
		return errors.New("in use by another process, or open in this one")
	}
	return err
}
