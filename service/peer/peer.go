// Package peer runs the other end of a measurement, a server that a contender talks to,
// as a process of its own, so that its CPU time and memory are told apart from the
// client's.
//
// The process is this very program again: [Start] or [StartConfigured] runs it with arguments that name a
// hidden subcommand, which calls [Serve]. The two talk in lines of JSON on the child's
// standard input and output: what the child is to be, if that does not fit into
// arguments, then one line when it is ready, then an answer to each question. The child
// ends when its standard input does, and on Linux with the process that started it, so
// that it never outlives it.
package peer

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"postage/service/child"
)

// startPatience and answerPatience are how long a peer may take to get ready and to answer.
const (
	startPatience  = 30 * time.Second
	answerPatience = 10 * time.Second
)

// Peer is a server in a process of its own.
type Peer struct {
	cmd     *exec.Cmd
	process *child.Process
	stdin   io.WriteCloser
	lines   chan []byte // closed when the process has ended
	stderr  *output

	ask  sync.Mutex // guards late
	late int        // answers still to come to those who have given up
}

// Start runs this program with the arguments and decodes into ready the line of JSON
// with which the child says that it is.
func Start(ready any, arguments ...string) (*Peer, error) {
	return StartConfigured(context.Background(), ready, nil, arguments...)
}

// StartConfigured is Start for a child that calls ReadConfig: it is told config, unless
// that is nil. If ctx ends before the child is ready, so does the child.
func StartConfigured(ctx context.Context, ready, config any, arguments ...string) (*Peer, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("peer: find this program: %w", err)
	}
	stdout, said := io.Pipe()
	p := &Peer{cmd: exec.Command(program, arguments...), lines: make(chan []byte, 1), stderr: &output{}}
	p.cmd.Stdout, p.cmd.Stderr = said, p.stderr
	p.cmd.WaitDelay = answerPatience
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("peer: %w", err)
	}
	if p.process, err = child.Start(p.cmd, syscall.SIGKILL); err != nil {
		return nil, fmt.Errorf("peer: start: %w", err)
	}
	go p.read(stdout)
	go func() {
		<-p.process.Done
		said.Close() // all of it has been read
	}()
	stop := context.AfterFunc(ctx, func() { _ = p.cmd.Process.Kill() })
	defer stop()
	if config != nil {
		err = p.tell(config)
	}
	if err == nil {
		err = p.receive(ready, startPatience)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("peer: start %s: %w", strings.Join(arguments, " "), err), p.Close())
	}
	return p, nil
}

// read takes what the process says line by line.
func (p *Peer) read(stdout io.Reader) {
	defer close(p.lines)
	reader := bufio.NewReader(stdout)
	for {
		line, err := reader.ReadBytes('\n')
		if err != nil {
			return
		}
		p.lines <- line
	}
}

// PID is the process's id.
func (p *Peer) PID() int { return p.process.PID }

// Done is closed when the process has ended.
func (p *Peer) Done() <-chan struct{} { return p.process.Done }

// Ask sends a question and decodes its answer. It may be called by several goroutines.
func (p *Peer) Ask(question, answer any) error {
	p.ask.Lock()
	defer p.ask.Unlock()
	if err := p.tell(question); err != nil {
		return fmt.Errorf("peer: ask: %w", err)
	}
	if err := p.receive(answer, answerPatience); err != nil {
		return fmt.Errorf("peer: ask: %w", err)
	}
	return nil
}

func (p *Peer) tell(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if _, err := p.stdin.Write(append(text, '\n')); err != nil {
		return p.death(err)
	}
	return nil
}

// message is a line from the child.
type message struct {
	Error string          `json:"error,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
}

func (p *Peer) receive(value any, patience time.Duration) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				return p.death(io.ErrUnexpectedEOF)
			}
			if p.late > 0 {
				p.late--
				continue
			}
			var m message
			if err := json.Unmarshal(line, &m); err != nil {
				return fmt.Errorf("it said %q: %w", line, err)
			}
			if m.Error != "" {
				return errors.New(m.Error)
			}
			return json.Unmarshal(m.Value, value)
		case <-timer.C:
			p.late++
			return fmt.Errorf("no answer within %v", patience)
		}
	}
}

// Explain adds to an error of a client what became of the process, if it has ended. One
// that is about to end is waited for: a client may see the end of its connection first.
func (p *Peer) Explain(err error) error {
	if err == nil {
		return nil
	}
	// One that lives answers at once, whatever it is asked.
	var answer json.RawMessage
	_ = p.Ask("are you there?", &answer)
	select {
	case <-p.process.Done:
		return fmt.Errorf("%w: %w", err, p.death(nil))
	default:
		return err
	}
}

// death says how the process ended; err is what is said if it has not.
func (p *Peer) death(err error) error {
	select {
	case <-p.process.Done:
	case <-time.After(answerPatience):
		return err
	}
	how := "exit status 0"
	if err := p.process.Err(); err != nil {
		how = err.Error()
	}
	if why := p.stderr.reason(); why != "" {
		return fmt.Errorf("the server ended (%s): %s", how, why)
	}
	return fmt.Errorf("the server ended (%s)", how)
}

// Close ends the process and waits for it. It may be called twice.
func (p *Peer) Close() error {
	_ = p.stdin.Close()
	go func() { // what it still says is of no account, and must not hold it up
		for range p.lines {
		}
	}()
	select {
	case <-p.process.Done:
		return nil
	case <-time.After(5 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.process.Done
		return errors.New("peer: the server did not end when it was told to")
	}
}

// output keeps the beginning and the end of what the child says on standard error.
type output struct {
	mu          sync.Mutex
	first, last []byte
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := min(len(p), 4<<10-len(o.first))
	o.first = append(o.first, p[:n]...)
	o.last = append(o.last, p[n:]...)
	o.last = o.last[max(0, len(o.last)-4<<10):]
	return len(p), nil
}

// reason is the line that says why a Go program crashed, or the first.
func (o *output) reason() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := append(bytes.Clone(o.first), o.last...)
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return strings.TrimSpace(line)
		}
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return strings.TrimSpace(line)
}
