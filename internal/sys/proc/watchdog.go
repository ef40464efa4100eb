package proc

import (
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"time"
)

// watchdog is a process that cleans up after this one has ended.
type watchdog struct {
	cmd   *exec.Cmd
	input io.WriteCloser
}

// startWatchdog starts a process that kills the process pid and removes the folders when this
// process is gone, for any reason: its standard input ends then. It has a session of its own, which
// a terminal's Ctrl-C does not reach. It needs a Unix system.
func startWatchdog(pid int, folders ...string) (*watchdog, error) {
	const script = `pid=$1; shift; read -r x || kill -KILL "$pid" 2>/dev/null; rm -rf "$@"`
	cmd := exec.Command("/bin/sh", append([]string{"-c", script, "postage-watchdog", strconv.Itoa(pid)}, folders...)...)
	cmd.Dir = "/"
	input, err := cmd.StdinPipe()
	if err == nil {
		err = ownSession(cmd)
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start the watchdog: %w", err)
	}
	return &watchdog{cmd, input}, nil
}

// stop tells the watchdog that its process has ended, and waits until the folders are removed.
func (w *watchdog) stop() {
	_, _ = io.WriteString(w.input, "ended\n") // there is nothing to kill
	_ = w.input.Close()
	late := time.AfterFunc(10*time.Second, func() { _ = w.cmd.Process.Kill() })
	defer late.Stop()
	_ = w.cmd.Wait() // its exit status does not matter
}
