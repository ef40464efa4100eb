//go:build !unix

package lab

import (
	"errors"
	"os"
	"syscall"
)

func workerAttributes() *syscall.SysProcAttr { return nil }

// killGroup has no process group to end here; the worker itself is killed.
func killGroup(int) {}

// askForStacks cannot be done here.
func askForStacks(*os.Process) error { return errors.ErrUnsupported }
