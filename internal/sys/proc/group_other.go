//go:build !unix

package proc

import (
	"errors"
	"os/exec"
	"syscall"
)

func ownSession(*exec.Cmd) error { return errors.ErrUnsupported }

// OwnGroup does nothing: there are no process groups here.
func OwnGroup(*exec.Cmd) {}

func killGroup(int, syscall.Signal) error { return errors.ErrUnsupported }
