//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package webpush

import (
	"errors"
	"os"
	"syscall"
)

// lock keeps other processes from a journal, until the file is closed or the process ends.
func lock(file *os.File) error {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errors.New("in use by another process, or open in this one")
	}
	return err
}
