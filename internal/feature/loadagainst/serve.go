package loadagainst

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"time"

	"postage/internal/sys/proc"
	"postage/load"
)

// Served is a server that Serve has started.
type Served struct {
	Addr    string
	process *proc.Process
	guard   *proc.Watchdog // kills the server's group should this process die
	said    proc.Output
}

// startWithin is how long a server may take until it listens; `go run` builds it first.
const startWithin = 5 * time.Minute

// Serve starts a server by a shell's command, with an address of 127.0.0.1 in place of each {addr},
// and waits until something listens there. Close ends it, with all that it has started.
func Serve(ctx context.Context, command, folder string) (*Served, error) {
	if !strings.Contains(command, "{addr}") {
		return nil, fmt.Errorf("%q has no {addr}, where the server is told its address", command)
	}
	port, err := proc.FreePort()
	if err != nil {
		return nil, err
	}
	s := &Served{Addr: fmt.Sprintf("127.0.0.1:%d", port)}
	cmd := exec.Command("sh", "-c", strings.ReplaceAll(command, "{addr}", s.Addr))
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, &s.said, &s.said
	if s.process, err = proc.StartSession(cmd); err != nil {
		return nil, fmt.Errorf("%s: %w", command, err)
	}
	if s.guard, err = proc.StartWatchdog(-s.process.PID); err != nil {
		s.process.KillGroup()
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startWithin, fmt.Errorf("nothing listens on %s after %v", s.Addr, startWithin))
	defer cancel()
	for err == nil {
		if conn, err := net.DialTimeout("tcp", s.Addr, time.Second); err == nil {
			return s, errors.Join(conn.Close(), s.Ended())
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-s.process.Done:
			err = s.Ended()
		case <-ctx.Done():
			err = fmt.Errorf("%w%s", context.Cause(ctx), s.text())
		}
	}
	s.Close()
	return nil, fmt.Errorf("%s: %w", command, err)
}

// PID is the process of the shell, which has the server as its child.
func (s *Served) PID() int { return s.process.PID }

// Ended returns how the server has ended, and the last that it has said; nil while it runs.
func (s *Served) Ended() error {
	select {
	case <-s.process.Done:
		return fmt.Errorf("the server has ended (%v)%s", s.process.Err(), s.text())
	default:
		return nil
	}
}

// Close ends the server.
func (s *Served) Close() {
	s.process.KillGroup()
	s.guard.Stop()
}

// saidLength is how much of what a server has said an error repeats.
const saidLength = 2000

func (s *Served) text() string {
	said := strings.TrimSpace(s.said.String())
	if said == "" {
		return ""
	}
	return ": it said\n" + said[max(0, len(said)-saidLength):]
}

// comparedAnswers is how many requests Differing sends to each side.
const comparedAnswers = 20

// Differing sends the first requests of both targets by HTTP, and says where the answers' statuses
// or bodies differ.
func Differing(ctx context.Context, client *http.Client, old, now *load.Target) (notes []string, err error) {
	before, after := requests(old), requests(now)
	for i := range min(comparedAnswers, len(before)) {
		r := &after[i]
		oldStatus, oldBody, oldErr := ask(ctx, client, &before[i])
		newStatus, newBody, newErr := ask(ctx, client, r)
		if err := errors.Join(oldErr, newErr); err != nil {
			return nil, err
		}
		note := ""
		switch {
		case oldStatus != newStatus:
			note = fmt.Sprintf("%s %s: the old side answers %s, the new %s", r.Method, r.URL.Path, oldStatus, newStatus)
		case !bytes.Equal(oldBody, newBody):
			note = fmt.Sprintf("%s %s: the sides answer with other bodies, of %d and %d bytes", r.Method, r.URL.Path, len(oldBody), len(newBody))
		}
		if note != "" && !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	return notes, nil
}

func requests(t *load.Target) []load.Request {
	if len(t.Requests) > 0 {
		return t.Requests
	}
	return []load.Request{t.Request}
}

// ask sends a request and returns its answer.
func ask(ctx context.Context, client *http.Client, r *load.Request) (status string, body []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, r.Method, r.URL.String(), bytes.NewReader(r.Body))
	if err != nil {
		return "", nil, err
	}
	request.Header = r.Header.Clone()
	response, err := client.Do(request)
	if err != nil {
		return "", nil, err
	}
	body, err = io.ReadAll(response.Body)
	return response.Status, body, errors.Join(err, response.Body.Close())
}
