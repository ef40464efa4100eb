package proc

import (
	"cmp"
	"fmt"
	"path"
	"strings"
	"sync"
)

// EndedError is the error of a process that ended instead of answering.
type EndedError struct {
	Who string // "the worker"
	How string // "exit status 2"
	Why string // the line on its standard error that says so, "" if there is none
	// Said is the beginning and the end of what it wrote there.
	Said string
}

func (e *EndedError) Error() string {
	if e.Why == "" {
		return fmt.Sprintf("%s ended (%s)", e.Who, e.How)
	}
	return fmt.Sprintf("%s ended (%s): %s", e.Who, e.How, e.Why)
}

// Output keeps the beginning and the end of what a process writes to standard error: a crash's
// reason comes first, after earlier output.
type Output struct {
	mu          sync.Mutex
	first, last []byte
	total       int
}

// How much is kept.
const (
	firstBytes = 64 << 10
	lastBytes  = 4 << 10
)

func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.total += len(p)
	n := min(len(p), firstBytes-len(o.first))
	o.first = append(o.first, p[:n]...)
	o.last = append(o.last, p[n:]...)
	o.last = o.last[max(0, len(o.last)-lastBytes):]
	return len(p), nil
}

func (o *Output) length() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.total
}

func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.first) + string(o.last)
}

func (o *Output) reason() string { return Reason(o.String()) }

// Reason is the line of a program's output that says why a Go program crashed, or a test failed;
// else the first line.
func Reason(said string) string {
	first := ""
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") || strings.HasPrefix(line, "SIG") {
			return line
		}
		first = cmp.Or(first, line)
	}
	return first
}

// mainGoroutine finds in a dump of stacks what the main goroutine was doing, and where: its state
// and its innermost calls, "" if there is no dump.
func (o *Output) mainGoroutine() string {
	_, stack, found := strings.Cut(o.String(), "\ngoroutine 1 ")
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
			calls = append(calls, path.Base(call))
		}
	}
	return fmt.Sprintf("%s %s", strings.TrimSuffix(state, ":"), strings.Join(calls, " < "))
}
