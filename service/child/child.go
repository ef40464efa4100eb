// Package child starts programs that must not outlive this one.
package child

import (
	"os/exec"
	"runtime"
	"syscall"
)

// Process is a program that was started.
type Process struct {
	PID  int
	Done <-chan struct{} // closed once it has ended
	err  error
}

// Err is how it ended, nil for an exit status of 0. It is to be read after Done is closed.
func (p *Process) Err() error { return p.err }

// Start starts a program and waits for its end in the background. If this process ends
// first, however it does, the kernel sends the program the signal; where it cannot
// (all but Linux), someone else has to see to it.
//
// The kernel's parent-death signal is sent when the parent's *thread* ends, see
// PR_SET_PDEATHSIG(2const), so the goroutine that starts the program keeps its thread
// until the program has ended.
func Start(cmd *exec.Cmd, death syscall.Signal) (*Process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	DieWithThread(cmd.SysProcAttr, death)
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
