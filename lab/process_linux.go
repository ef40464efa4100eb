package lab

import (
	"os"
	"syscall"
)

// maxrssUnit: getrusage(2) counts in KiB.
const maxrssUnit = 1 << 10

// workerAttributes make a worker die with the thread that started it, even if the
// conductor is killed, and keep a terminal's Ctrl-C from it.
func workerAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// killGroup ends a worker and whatever it started.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// askForStacks has a Go program print the stacks of its goroutines and end.
func askForStacks(p *os.Process) error { return p.Signal(syscall.SIGQUIT) }
