package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

// Process is a server that runs in a process of its own.
type Process struct {
	// Addr is where it listens.
	Addr string

	mu      sync.Mutex // held while it is asked
	stdin   io.WriteCloser
	answers *json.Decoder
	stderr  words
	cmd     *exec.Cmd
	done    chan struct{} // closed when the process has ended
	err     error         // how it ended, after done
}

// Start starts this program again as a server and waits until it listens.
func Start(ctx context.Context, config Config) (*Process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program to start it as a server: %w", err)
	}
	line, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	p := &Process{cmd: exec.Command(program, "serve-peer"), done: make(chan struct{})}
	p.cmd.SysProcAttr = dieWithParent()
	p.cmd.Stderr = &p.stderr
	p.cmd.WaitDelay = time.Second
	// Pipes of our own: cmd.Wait closes those of StdoutPipe, maybe before they are read.
	stdinR, stdinW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	stdoutR, stdoutW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the server: %w", err), stdinR.Close(), stdinW.Close())
	}
	p.cmd.Stdin, p.cmd.Stdout = stdinR, stdoutW
	p.stdin = stdinW
	p.answers = json.NewDecoder(stdoutR)
	started := make(chan error)
	go func() {
		// The kernel ends the server when the thread that started it ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		stdinR.Close()
		stdoutW.Close()
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
			stdoutR.Close()
		}
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, errors.Join(fmt.Errorf("start the server: %w", err), stdinW.Close(), stdoutR.Close())
	}
	stop := context.AfterFunc(ctx, func() { _ = p.cmd.Process.Kill() })
	defer stop()
	var g greeting
	if _, err := stdinW.Write(append(line, '\n')); err != nil {
		return nil, errors.Join(p.died("start the server", err), p.Close())
	}
	if err := p.answers.Decode(&g); err != nil {
		return nil, errors.Join(p.died("start the server", err), p.Close())
	}
	if g.Error != "" {
		return nil, errors.Join(fmt.Errorf("start the server: %s", g.Error), p.Close())
	}
	p.Addr = g.Addr
	return p, nil
}

// Counters asks the server what it has done so far.
func (p *Process) Counters() (Counters, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var c Counters
	if _, err := p.stdin.Write([]byte("\n")); err != nil {
		return c, p.died("ask the server", err)
	}
	if err := p.answers.Decode(&c); err != nil {
		return c, p.died("ask the server", err)
	}
	return c, nil
}

// Explain adds to an error of a client what became of the server, if it is that which
// ended.
func (p *Process) Explain(err error) error {
	if err == nil {
		return nil
	}
	select {
	case <-p.done:
	case <-time.After(50 * time.Millisecond):
		return err
	}
	return p.died(err.Error(), nil)
}

// died says how the server ended.
func (p *Process) died(doing string, err error) error {
	select {
	case <-p.done:
	case <-time.After(time.Second):
		return fmt.Errorf("%s: %w", doing, err)
	}
	how := "exit status 0"
	if p.err != nil {
		how = p.err.Error()
	}
	if last := p.stderr.first(); last != "" {
		return fmt.Errorf("%s: the server ended (%s): %s", doing, how, last)
	}
	return fmt.Errorf("%s: the server ended (%s)", doing, how)
}

// Done is closed when the server has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// PID is the server's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Close ends the server and waits for its end.
func (p *Process) Close() error {
	_ = p.stdin.Close()
	select {
	case <-p.done:
	case <-time.After(5 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
		return errors.New("the server did not end when it was told to")
	}
	return nil
}

// words keeps the beginning of what a process says.
type words struct {
	mu   sync.Mutex
	text []byte
}

func (w *words) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, p[:min(len(p), max(0, 8<<10-len(w.text)))]...)
	return len(p), nil
}

// first is the line that says why a Go program crashed, or the first line.
func (w *words) first() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for line := range bytes.Lines(w.text) {
		if text := string(line); strings.HasPrefix(text, "panic: ") || strings.HasPrefix(text, "fatal error: ") {
			return strings.TrimSpace(text)
		}
	}
	line, _, _ := bytes.Cut(w.text, []byte("\n"))
	return strings.TrimSpace(string(line))
}
