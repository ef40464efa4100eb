//go:build unix

package apiserver

import (
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"postage/service/child"
)

// supported says whether this system has what it takes to run a server and to be rid of it.
const supported = true

// ownGroup has a context end a command with all that it started. The command dies with the thread that starts it, to
// which the caller's goroutine is to be locked.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	child.DieWithThread(cmd.SysProcAttr, syscall.SIGKILL)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

// startServer starts the server, in a session of its own so that a terminal's Ctrl-C does not reach it.
func startServer(cmd *exec.Cmd) (*child.Process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return child.Start(cmd, syscall.SIGKILL)
}

// kill ends the server at once, as nothing of it is kept, and waits for its end.
func kill(p *child.Process) {
	select {
	case <-p.Done: // long ago perhaps: its id may be another's by now
		return
	default:
	}
	_ = syscall.Kill(-p.PID, syscall.SIGKILL)
	<-p.Done
}

// startWatchdog starts a process that ends the server and removes the folder when its standard input ends: when
// it is closed, or when this process is gone, however it went. Told before that the server has ended, it kills nothing.
func startWatchdog(pid int, folders []string) (*watchdog, error) {
	const script = `pid=$1; shift; read -r x || kill -KILL "$pid" 2>/dev/null; rm -rf "$@"`
	cmd := exec.Command("/bin/sh", append([]string{"-c", script, "postage-watchdog", strconv.Itoa(pid)}, folders...)...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &watchdog{cmd, input}, nil
}

// stopPatience is how long a watchdog may take.
const stopPatience = 10 * time.Second
