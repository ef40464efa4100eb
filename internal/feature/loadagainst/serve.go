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
	deadline := time.After(startWithin)
	for {
		if conn, err := net.DialTimeout("tcp", s.Addr, time.Second); err == nil {
			return s, errors.Join(conn.Close(), s.Ended())
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-s.process.Done:
			err = s.Ended()
		case <-deadline:
			err = fmt.Errorf("nothing listens on %s after %v%s", s.Addr, startWithin, s.text())
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		if err != nil {
			s.Close()
			return nil, fmt.Errorf("%s: %w", command, err)
		}
	}
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

// SameAnswers sends a request to both servers, and says how their answers differ, "" if they have
// the same status and body.
func SameAnswers(ctx context.Context, client *http.Client, old, now *load.Request) (string, error) {
	var statuses [2]string
	var bodies [2][]byte
	for i, r := range []*load.Request{old, now} {
		request, err := http.NewRequestWithContext(ctx, r.Method, r.URL.String(), bytes.NewReader(r.Body))
		if err != nil {
			return "", err
		}
		request.Header = r.Header.Clone()
		response, err := client.Do(request)
		if err != nil {
			return "", err
		}
		statuses[i] = response.Status
		bodies[i], err = io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil {
			return "", err
		}
	}
	switch {
	case statuses[0] != statuses[1]:
		return fmt.Sprintf("%s %s: the old side answers %s, the new %s", now.Method, now.URL.Path, statuses[0], statuses[1]), nil
	case !bytes.Equal(bodies[0], bodies[1]):
		return fmt.Sprintf("%s %s: the sides answer with other bodies, of %d and %d bytes", now.Method, now.URL.Path, len(bodies[0]), len(bodies[1])), nil
	}
	return "", nil
}
