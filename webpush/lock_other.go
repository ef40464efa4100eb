//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package webpush

import (
	"errors"
	"os"
	"runtime"
)

// lock fails: the standard library has no lock for this system, and without one two processes could
// send to everybody twice.
func lock(*os.File) error {
	return errors.New("no lock on " + runtime.GOOS + ", so that another process could send too: keep the results by other means")
}
