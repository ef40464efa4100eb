//go:build unix

package proc

import (
	"os/exec"
	"syscall"
)

// ownSession has a command run in a session of its own.
func ownSession(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return nil
}

// OwnGroup has a command run in a process group of its own: a terminal's Ctrl-C does not reach it,
// and the end of its context, if any, ends all that it started.
func OwnGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if cmd.Cancel != nil {
		cmd.Cancel = func() error { return killGroup(cmd.Process.Pid, syscall.SIGTERM) }
	}
}

// killGroup sends a signal to a process and whatever it started.
func killGroup(pid int, signal syscall.Signal) error { return syscall.Kill(-pid, signal) }
