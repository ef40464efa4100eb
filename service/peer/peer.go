// Package peer runs the other end of a measurement, a server that a contender talks to,
// as a process of its own, so that its CPU time and memory are told apart from the
// client's.
//
// The process is this very program again: [Start] runs it with arguments that name a
// hidden subcommand, which calls [Serve]. The two talk in lines of JSON on the child's
// standard input and output: one line when it is ready, then an answer to each question.
// The child ends when its standard input does, so it never outlives whoever started it.
package peer

import (
	"bufio"
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

// startPatience and answerPatience are how long a peer may take to get ready and to answer.
const (
	startPatience  = 30 * time.Second
	answerPatience = 10 * time.Second
)

// Peer is a server in a process of its own.
type Peer struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	lines  chan []byte // closed when the child's standard output ends
	stderr *output
	ask    sync.Mutex
}

// Start runs this program with the arguments and decodes into ready the line of JSON
// with which the child says that it is.
func Start(ready any, arguments ...string) (*Peer, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("peer: find this program: %w", err)
	}
	p := &Peer{cmd: exec.Command(program, arguments...), lines: make(chan []byte, 1), stderr: &output{}}
	p.cmd.Stderr = p.stderr
	p.cmd.WaitDelay = time.Second
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("peer: %w", err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("peer: %w", err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("peer: start: %w", err)
	}
	go func() {
		defer close(p.lines)
		reader := bufio.NewReader(stdout)
		for {
			line, err := reader.ReadBytes('\n')
			if err != nil {
				return
			}
			p.lines <- line
		}
	}()
	if err := p.receive(ready, startPatience); err != nil {
		return nil, errors.Join(fmt.Errorf("peer: start %s: %w", strings.Join(arguments, " "), err), p.Close())
	}
	return p, nil
}

// PID is the process's id.
func (p *Peer) PID() int { return p.cmd.Process.Pid }

// Ask sends a question and decodes its answer. It may be called by several goroutines.
func (p *Peer) Ask(question, answer any) error {
	p.ask.Lock()
	defer p.ask.Unlock()
	text, err := json.Marshal(question)
	if err != nil {
		return fmt.Errorf("peer: ask: %w", err)
	}
	if _, err := p.stdin.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("peer: ask: %w%s", err, p.stderr.reason())
	}
	if err := p.receive(answer, answerPatience); err != nil {
		return fmt.Errorf("peer: ask: %w", err)
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
	select {
	case line, ok := <-p.lines:
		if !ok {
			return fmt.Errorf("it ended%s", p.stderr.reason())
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
		return fmt.Errorf("no answer within %v", patience)
	}
}

// Close ends the process and waits for it. It may be called twice.
func (p *Peer) Close() error {
	_ = p.stdin.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range p.lines {
		}
	}()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		_ = p.cmd.Process.Kill()
		<-done
	}
	_ = p.cmd.Wait()
	return nil
}

// Serve is the child's side. It says ready, then answers each line of the input until
// that ends. The server itself has been started before, and is closed after.
func Serve(stdin io.Reader, stdout io.Writer, ready any, answer func(question json.RawMessage) (any, error)) error {
	say := func(value any, err error) error {
		var m message
		if err == nil {
			m.Value, err = json.Marshal(value)
		}
		if err != nil {
			m = message{Error: err.Error()}
		}
		return json.NewEncoder(stdout).Encode(m)
	}
	if err := say(ready, nil); err != nil {
		return fmt.Errorf("peer: %w", err)
	}
	decoder := json.NewDecoder(stdin)
	for {
		var question json.RawMessage
		if err := decoder.Decode(&question); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("peer: %w", err)
		}
		if err := say(answer(question)); err != nil {
			return fmt.Errorf("peer: %w", err)
		}
	}
}

// output keeps the end of what the child says on standard error.
type output struct {
	mu   sync.Mutex
	text []byte
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, p...)
	o.text = o.text[max(0, len(o.text)-4<<10):]
	return len(p), nil
}

func (o *output) reason() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if text := strings.TrimSpace(string(o.text)); text != "" {
		return ": " + text
	}
	return ""
}
