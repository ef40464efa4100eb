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

// served is a server that was started.
type served struct {
	addr    string
	source  *build.Source // nil for the working tree
	process *proc.Process
	guard   *proc.Watchdog // kills the server's group should this process die
	said    proc.Output
}

// startWithin is how long a server may take until it listens; `go run` builds it first.
const startWithin = 5 * time.Minute

// serve starts a server by a shell's command, with an address of 127.0.0.1 in place of each {addr},
// and waits until something listens there.
func serve(ctx context.Context, command, revision string) (_ *served, err error) {
	if !strings.Contains(command, "{addr}") {
		return nil, fmt.Errorf("%q has no {addr}, where the server is told its address", command)
	}
	s := new(served)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	cmd := exec.Command("sh", "-c", "")
	if revision != "" {
		if s.source, err = build.Revision(ctx, ".", revision); err != nil {
			return nil, err
		}
		if cmd.Dir, err = s.source.Folder(ctx); err != nil {
			return nil, err
		}
	}
	port, err := proc.FreePort()
	if err != nil {
		return nil, err
	}
	s.addr = fmt.Sprintf("127.0.0.1:%d", port)
	cmd.Args[2] = strings.ReplaceAll(command, "{addr}", s.addr)
	cmd.Stdout, cmd.Stderr = &s.said, &s.said
	if s.process, err = proc.StartSession(cmd); err != nil {
		return nil, err
	}
	if s.guard, err = proc.StartWatchdog(-s.process.PID); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startWithin, fmt.Errorf("nothing listens on %s after %v", s.addr, startWithin))
	defer cancel()
	for {
		if conn, err := net.DialTimeout("tcp", s.addr, time.Second); err == nil {
			return s, errors.Join(conn.Close(), s.ended())
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-s.process.Done:
			return nil, s.ended()
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: it said\n%s", context.Cause(ctx), &s.said)
		}
	}
}

// ended returns how the server has ended, and what it has said; nil while it runs.
func (s *served) ended() error {
	select {
	case <-s.process.Done:
		return fmt.Errorf("the server has ended (%v): it said\n%s", s.process.Err(), &s.said)
	default:
		return nil
	}
}

// close ends the server, with all that it has started.
func (s *served) close() error {
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
	before, after := requests(old), requests(now)
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

func requests(t *load.Target) []load.Request {
	if len(t.Requests) > 0 {
		return t.Requests
	}
	return []load.Request{t.Request}
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
