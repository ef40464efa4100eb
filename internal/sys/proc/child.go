package proc

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// startPatience and answerPatience are how long a server may take to get ready, or to end, and to
// answer.
const (
	startPatience  = 30 * time.Second
	answerPatience = 10 * time.Second
)

// Child is a process with which lines of JSON are exchanged on its standard input and output. On
// Linux it ends with this process; elsewhere it ends itself when its standard input ends, or by
// [EndWithParent].
type Child struct {
	who     string
	group   bool
	cmd     *exec.Cmd
	process *Process
	stdin   io.WriteCloser
	lines   chan []byte // closed when the process has ended
	stderr  *Output

	ask  sync.Mutex // guards late
	late int        // answers still to come to callers that have given up
}

// Command says what to start.
type Command struct {
	Who         string   // in errors: "the worker"
	Args        []string // the program and its arguments
	Environment []string // added to this process's: "NAME=value"
	Folder      string   // where it runs, this process's for ""
	// Group gives it a process group of its own: a terminal's Ctrl-C does not reach it, and
	// Kill kills whatever it started too.
	Group bool
}

// Open starts a command.
func Open(c Command) (*Child, error) {
	p := &Child{who: c.Who, group: c.Group, cmd: exec.Command(c.Args[0], c.Args[1:]...), lines: make(chan []byte, 1), stderr: &Output{}}
	p.cmd.Env, p.cmd.Dir = append(os.Environ(), c.Environment...), c.Folder
	if c.Group {
		OwnGroup(p.cmd)
	}
	stdout, said := io.Pipe()
	p.cmd.Stdout, p.cmd.Stderr = said, p.stderr
	// A grandchild that keeps its streams open must not keep us waiting for long.
	p.cmd.WaitDelay = 2 * time.Second
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err == nil {
		p.process, err = Start(p.cmd, syscall.SIGKILL)
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Who, err)
	}
	go p.read(stdout)
	go func() {
		<-p.process.Done
		said.Close() // all of it has been read
	}()
	return p, nil
}

// StartServer starts the named server in a process of its own, which is this program again, see
// [ServeNamed]. It is sent config, unless that is nil, and ready is decoded from its first answer.
// If ctx ends before that, so does the server.
func StartServer(ctx context.Context, name string, config, ready any) (*Child, error) {
	self, err := Self(serveCommand, name)
	if err != nil {
		return nil, err
	}
	p, err := Open(Command{Who: "the server", Args: self, Environment: LaterGOGC(os.Getenv("GOGC"))})
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = p.cmd.Process.Kill() })
	defer stop()
	if config != nil {
		err = p.tell(config)
	}
	if err == nil {
		err = p.receive(context.Background(), ready, startPatience)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the server %s: %w", name, err), p.Close())
	}
	return p, nil
}

// read takes what the process says line by line.
func (p *Child) read(stdout io.Reader) {
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
func (p *Child) PID() int { return p.process.PID }

// Said is how many bytes the process has written to its standard error.
func (p *Child) Said() int { return p.stderr.length() }

// Done is closed when the process has ended.
func (p *Child) Done() <-chan struct{} { return p.process.Done }

// Ask sends a question and decodes its answer. It may be called by several goroutines.
func (p *Child) Ask(question, answer any) error {
	return p.AskWithin(context.Background(), answerPatience, question, answer)
}

// ErrNoAnswer is a process that did not answer in time.
var ErrNoAnswer = errors.New("no answer")

// AskWithin is Ask with a time limit, and with a context whose cause is the error if it ends first.
// The error of a process that ended is an [EndedError]; otherwise it is the error that the process
// answered.
func (p *Child) AskWithin(ctx context.Context, patience time.Duration, question, answer any) error {
	p.ask.Lock()
	defer p.ask.Unlock()
	if err := p.tell(question); err != nil {
		return err
	}
	return p.receive(ctx, answer, patience)
}

func (p *Child) tell(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if _, err := p.stdin.Write(append(text, '\n')); err != nil {
		return p.ended(err)
	}
	return nil
}

func (p *Child) receive(ctx context.Context, value any, patience time.Duration) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				return p.ended(io.ErrUnexpectedEOF)
			}
			if p.late > 0 {
				p.late--
				continue
			}
			var f failure
			if err := json.Unmarshal(line, &f); err != nil {
				return fmt.Errorf("%s said %.200q, which is not an answer: %w", p.who, line, err)
			}
			if f.Error != "" {
				return errors.New(f.Error)
			}
			return json.Unmarshal(line, value)
		case <-timer.C:
			p.late++
			return fmt.Errorf("%w within %v", ErrNoAnswer, patience)
		case <-ctx.Done():
			p.late++
			return context.Cause(ctx)
		}
	}
}

// Explain adds to a client's error how the process ended, if it has. It waits for a process that is
// about to end: a client may see the end of its connection first.
func (p *Child) Explain(err error) error {
	if err == nil {
		return nil
	}
	// A living process answers at once, whatever the question.
	var answer json.RawMessage
	_ = p.Ask("are you there?", &answer)
	select {
	case <-p.process.Done:
		return fmt.Errorf("%w: %w", err, p.ended(nil))
	default:
		return err
	}
}

// ended says how the process ended; err is what is said if it has not.
func (p *Child) ended(err error) error {
	select {
	case <-p.process.Done:
	case <-time.After(answerPatience):
		return err
	}
	e := &EndedError{Who: p.who, How: "exit status 0", Why: p.stderr.reason(), Said: p.stderr.String()}
	if err := p.process.Err(); err != nil {
		e.How = err.Error()
	}
	return e
}

// Stacks ends a Go program that hangs by having it print the stacks of its goroutines, and returns
// what its main goroutine was doing; "" if that is not known.
func (p *Child) Stacks() string {
	if p.cmd.Process.Signal(syscall.SIGQUIT) != nil {
		return ""
	}
	select {
	case <-p.process.Done:
	case <-time.After(5 * time.Second):
	}
	return p.stderr.mainGoroutine()
}

// Close ends the process's standard input and waits until the process ends. It may be called twice.
func (p *Child) Close() error {
	_ = p.stdin.Close()
	go p.drain()
	select {
	case <-p.process.Done:
		return nil
	case <-time.After(startPatience): // a server on a busy machine takes its time
		_ = p.cmd.Process.Kill()
		<-p.process.Done
		return fmt.Errorf("%s did not end when it was told to", p.who)
	}
}

// Kill kills the process and, if it has its own group, all that it started.
func (p *Child) Kill() {
	_ = p.stdin.Close()
	if p.group {
		_ = killGroup(p.process.PID, syscall.SIGKILL) // whatever it started may outlive it
	}
	_ = p.cmd.Process.Kill()
	p.drain()
	<-p.process.Done
}

// drain reads what the process still writes, so that it does not block.
func (p *Child) drain() {
	for range p.lines {
	}
}
