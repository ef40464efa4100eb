package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// child is the conductor's side of a worker process.
type child struct {
	row     string
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	replies chan reply // closed when the worker's standard output ends
	stderr  *head
}

// startChild starts a worker. It must be called from a goroutine that is locked to its
// thread and outlives the child (see workerAttributes).
func startChild(command, environment []string, row string) (*child, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), environment...)
	cmd.SysProcAttr = workerAttributes()
	c := &child{row: row, cmd: cmd, stderr: &head{}, replies: make(chan reply, 1)}
	cmd.Stderr = c.stderr
	// A grandchild that keeps standard error open must not keep us waiting.
	cmd.WaitDelay = time.Second
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start worker: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start worker: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start worker: %w", err)
	}
	c.stdin = stdin
	go func() {
		defer close(c.replies)
		decoder := json.NewDecoder(bufio.NewReader(stdout))
		for {
			var r reply
			if err := decoder.Decode(&r); err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrClosed) {
					r.Error = fmt.Sprintf("the worker's answer is no JSON: %v", err)
					c.replies <- r
				}
				return
			}
			c.replies <- r
		}
	}()
	return c, nil
}

// ask sends a request and waits for the answer. An error says what became of the
// contender; after one the child is not to be asked again.
func (c *child) ask(ctx context.Context, r request, patience time.Duration) (reply, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return reply{}, err
	}
	if _, err := c.stdin.Write(append(text, '\n')); err != nil {
		return reply{}, c.obituary(r.Op)
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case answer, ok := <-c.replies:
		if !ok {
			return reply{}, c.obituary(r.Op)
		}
		if answer.Error != "" {
			return reply{}, errors.New(answer.Error)
		}
		return answer, nil
	case <-timer.C:
		return reply{}, fmt.Errorf("hang: no answer to %s within %v%s", r.Op, patience, c.whereabouts())
	case <-ctx.Done():
		return reply{}, context.Cause(ctx)
	}
}

// whereabouts asks a worker that hangs for the stack of its main goroutine, which ends it.
func (c *child) whereabouts() string {
	if askForStacks(c.cmd.Process) != nil {
		return ""
	}
	select {
	case <-c.replies: // closed with its standard output
	case <-time.After(5 * time.Second):
	}
	return c.stderr.mainGoroutine()
}

// obituary says how a worker ended that gave no answer.
func (c *child) obituary(op string) error {
	err := c.cmd.Wait()
	last := c.stderr.lastWords()
	switch {
	case last != "" && err != nil:
		return fmt.Errorf("%w to %s (%v): %s", errWorkerGone, op, err, last)
	case err != nil:
		return fmt.Errorf("%w to %s (%v)", errWorkerGone, op, err)
	case last != "":
		return fmt.Errorf("%w to %s (exit status 0): %s", errWorkerGone, op, last)
	}
	return fmt.Errorf("%w to %s (exit status 0)", errWorkerGone, op)
}

// end makes sure that the worker, and whatever it started, is gone.
func (c *child) end() {
	_ = c.stdin.Close()
	killGroup(c.cmd.Process.Pid)
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
	for range c.replies { // until the reader has ended
	}
}

// head keeps the beginning of what a worker says on standard error: a crash begins
// with its reason.
type head struct {
	mu   sync.Mutex
	text []byte
}

func (h *head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text = append(h.text, p[:min(len(p), max(0, 64<<10-len(h.text)))]...)
	return len(p), nil
}

// lastWords is the line that says why a Go program crashed, or the first line.
func (h *head) lastWords() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	first := ""
	for line := range strings.Lines(string(h.text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") || strings.HasPrefix(line, "SIG") {
			return line
		}
		if first == "" {
			first = line
		}
	}
	return first
}

// errWorkerGone is a worker that ended without an answer.
var errWorkerGone = errors.New("the worker ended without an answer")

// mainGoroutine finds in a dump of stacks what the main goroutine was doing, and where.
func (h *head) mainGoroutine() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, stack, found := strings.Cut(string(h.text), "\ngoroutine 1 ")
	if !found {
		return ""
	}
	state, stack, _ := strings.Cut(stack, "\n")
	if i := strings.Index(state, "["); i > 0 {
		state = state[i:] // behind it, addresses
	}
	var calls []string
	for line := range strings.Lines(stack) {
		if line == "\n" || len(calls) == 4 {
			break
		}
		if !strings.HasPrefix(line, "\t") {
			call, _, _ := strings.Cut(strings.TrimSpace(line), "(0x")
			calls = append(calls, lastElements(call, 1))
		}
	}
	return fmt.Sprintf("; its main goroutine %s %s", strings.TrimSuffix(state, ":"), strings.Join(calls, " < "))
}
