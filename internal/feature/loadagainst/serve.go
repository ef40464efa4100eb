package loadagainst

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"net"
	"os/exec"
	"slices"
	"strings"
	"time"

	"postage/internal/feature/build"
	"postage/internal/sys/proc"
	"postage/load"
)

// started is a server that Serve has started, or none.
type started struct {
	source  *build.Source // nil for the working tree
	process *proc.Process
	guard   *proc.Watchdog // kills the server's group should this process die
	said    proc.Output
}

// startWithin is how long a server may take until it listens; `go run` builds it first.
const startWithin = 5 * time.Minute

// Serve starts the side's server in a revision's code, or for "" in that of the working tree, by a
// shell's command, with an address of 127.0.0.1 in place of each {addr}. It waits until something
// listens there.
func (s *Side) Serve(ctx context.Context, command, revision string) (addr string, err error) {
	if !strings.Contains(command, "{addr}") {
		return "", fmt.Errorf("%q has no {addr}, where the server is told its address", command)
	}
	port, err := proc.FreePort()
	if err != nil {
		return "", err
	}
	addr = fmt.Sprintf("127.0.0.1:%d", port)
	cmd, server := exec.Command("sh", "-c", strings.ReplaceAll(command, "{addr}", addr)), &s.started
	cmd.Stdout, cmd.Stderr = &server.said, &server.said
	if revision != "" {
		if server.source, err = build.Revision(ctx, ".", revision); err != nil {
			return "", err
		}
		if cmd.Dir, err = server.source.Folder(ctx); err != nil {
			return "", err
		}
	}
	if server.process, err = proc.StartSession(cmd); err != nil {
		return "", err
	}
	s.Server.PID = server.process.PID // the shell, which has the server as its child
	if server.guard, err = proc.StartWatchdog(-s.Server.PID); err != nil {
		return "", err
	}
	for deadline := time.Now().Add(startWithin); ; {
		if conn, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
			return addr, errors.Join(conn.Close(), server.ended())
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
		if err := server.ended(); err != nil {
			return "", err
		}
		if time.Now().After(deadline) {
			return "", fmt.Errorf("nothing listens on %s after %v: the server said\n%s", addr, startWithin, &server.said)
		}
	}
}

// ended returns how the server has ended, and what it has said; nil while it runs.
func (s *started) ended() error {
	if s.process == nil {
		return nil
	}
	select {
	case <-s.process.Done:
		return fmt.Errorf("the server has ended (%v): it said\n%s", s.process.Err(), &s.said)
	default:
		return nil
	}
}

// close ends the server, with all that it has started.
func (s *started) close() error {
	if s.process != nil {
		s.process.KillGroup()
	}
	if s.guard != nil {
		s.guard.Stop()
	}
	if s.source != nil {
		return s.source.Close()
	}
	return nil
}

// comparedAnswers is how many requests Differing sends to each side.
const comparedAnswers = 20

// Differing sends the first requests of both targets, and says where statuses or bodies differ.
func Differing(ctx context.Context, old, now *load.Target) (notes []string, err error) {
	before, after := old.All(), now.All()
	for i := range min(comparedAnswers, len(before)) {
		oldAnswer, oldErr := ask(ctx, old, before[i])
		newAnswer, newErr := ask(ctx, now, after[i])
		if err := errors.Join(oldErr, newErr); err != nil {
			return nil, err
		}
		note := fmt.Sprintf("%s %s: the old side answers %s, the new %s", after[i].Method, after[i].URL.Path, oldAnswer, newAnswer)
		if oldAnswer != newAnswer && !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	return notes, nil
}

// ask sends one request to a target, and describes the answer.
func ask(ctx context.Context, t *load.Target, r load.Request) (answer string, err error) {
	one := *t
	one.Conns, one.Streams, one.Requests = 1, 1, []load.Request{r}
	one.Expect = func(status int) bool { answer = load.StatusName(status); return true }
	one.Body = func(body []byte) error {
		answer += fmt.Sprintf(" with %d bytes (CRC %08x)", len(body), crc32.ChecksumIEEE(body))
		return nil
	}
	pool, err := load.Open(ctx, &one)
	if err != nil {
		return "", err
	}
	defer pool.Close()
	result, err := load.Run(ctx, load.Plan{Pacer: load.Constant{For: time.Minute}, Most: 1, Lines: pool.Lines})
	if err != nil || answer != "" {
		return answer, err
	}
	return "", errors.New(append(result.Reasons(), "nothing was sent")[0])
}
