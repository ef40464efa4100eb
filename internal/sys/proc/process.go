// Package proc starts processes, and has them end with this one: another program ([Start]), or this
// program again, with which it exchanges lines of JSON ([Open], [StartServer] and [Serve], its
// other side). It says why a process crashed, what CPU time and memory it uses, and finds a free
// port.
package proc

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// ErrNotAvailable is wrapped by errors about figures that this process or system does not have.
var ErrNotAvailable = errors.New("not available")

// Self is the command that starts this program again with the arguments.
func Self(arguments ...string) ([]string, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program to start it again: %w", err)
	}
	return append([]string{program}, arguments...), nil
}

// Process is a program that was started.
type Process struct {
	PID  int
	Done <-chan struct{} // closed once it has ended
	err  error

	watchdog *watchdog // of a session
}

// Err is how it ended, nil for an exit status of 0. It is to be read after Done is closed.
func (p *Process) Err() error { return p.err }

// Start starts a program and waits for its end in the background. If this process ends first, for
// any reason, the kernel sends the program the signal. That works on Linux only; elsewhere use a
// [Watchdog], or have the program end itself.
//
// The kernel's parent-death signal is sent when the parent's *thread* ends, see
// PR_SET_PDEATHSIG(2const), so the goroutine that starts the program keeps its thread
// until the program has ended.
func Start(cmd *exec.Cmd, death syscall.Signal) (*Process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	dieWithThread(cmd.SysProcAttr, death)
	done := make(chan struct{})
	p := &Process{Done: done}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if err == nil {
			p.PID = cmd.Process.Pid
		}
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(done)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// StartSession is Start in a session of its own, which a terminal's Ctrl-C does not reach. Unless p
// is nil, KillGroup ends it; if this process ends first, a watchdog does, and removes the folders.
// Only Unix has sessions: elsewhere the error is [errors.ErrUnsupported].
func StartSession(cmd *exec.Cmd, folders ...string) (p *Process, err error) {
	if err := ownSession(cmd); err != nil {
		return nil, err
	}
	if p, err = Start(cmd, syscall.SIGKILL); err == nil {
		p.watchdog, err = startWatchdog(-p.PID, folders...)
	}
	return p, err
}

// KillGroup kills a program that has a session of its own, and whatever it started, waits for its
// end, and removes the session's folders.
func (p *Process) KillGroup() {
	select {
	case <-p.Done: // perhaps long ago: its id may belong to another process now
	default:
		_ = killGroup(p.PID, syscall.SIGKILL)
		<-p.Done
	}
	if p.watchdog != nil {
		p.watchdog.stop()
	}
}

// EndWithParent ends this process when its parent is gone, whatever else it is doing. On
// Linux the kernel does that too, and sooner. It does not return.
//
// Note: a goroutine that reads standard input instead made about one batch in thirty thousand hang:
// Go 1.26's runtime was stopping the world to count allocations, most likely while the goroutine
// returned to its read.
func EndWithParent() {
	parent := os.Getppid()
	for os.Getppid() == parent {
		time.Sleep(time.Second / 2)
	}
	os.Exit(3)
}

// FreePort asks the kernel for a TCP port of 127.0.0.1 that nothing listens on. Another
// program may take it a moment later.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
