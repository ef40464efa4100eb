//go:build unix && !linux

package lab

import (
	"os"
	"syscall"
)

// maxrssUnit: getrusage(2) counts in bytes on Darwin.
const maxrssUnit = 1

// workerAttributes keep a terminal's Ctrl-C from a worker. It ends by itself when its
// parent is gone, see endWithConductor.
func workerAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends a worker and whatever it started.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// askForStacks has a Go program print the stacks of its goroutines and end.
func askForStacks(p *os.Process) error { return p.Signal(syscall.SIGQUIT) }
