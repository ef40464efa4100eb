package loadagainst

import (
	"cmp"
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

// startWithin is how long a server may take until it listens; `go run` builds it first.
const startWithin = 5 * time.Minute

// Serve starts the side's server in a revision's code, or for "" in the working tree's, by a shell's
// command, with an address of 127.0.0.1 in place of each {addr}. It waits until something listens
// there.
func (s *Side) Serve(ctx context.Context, command, revision string) (addr string, err error) {
	if !strings.Contains(command, "{addr}") {
		return "", fmt.Errorf("%q has no {addr} for the server's address", command)
	}
	port, err := proc.FreePort()
	if err != nil {
		return "", err
	}
	addr = fmt.Sprintf("127.0.0.1:%d", port)
	cmd := exec.Command("sh", "-c", strings.ReplaceAll(command, "{addr}", addr))
	cmd.Stdout, cmd.Stderr = &s.said, &s.said
	s.Name = cmp.Or(revision, "the working tree")
	if revision != "" {
		if s.source, err = build.Revision(ctx, ".", revision); err != nil {
			return "", err
		}
		if cmd.Dir, err = s.source.Folder(ctx); err != nil {
			return "", err
		}
	}
	if s.process, err = proc.StartSession(cmd); err != nil {
		return "", err
	}
	s.Server.PID = s.process.PID // the shell, which has the server as its child
	late := time.Now().Add(startWithin)
	for {
		conn, refused := net.DialTimeout("tcp", addr, time.Second)
		if refused == nil {
			conn.Close()
		}
		if err := cmp.Or(s.ended(), context.Cause(ctx)); err != nil {
			return "", err
		}
		if refused == nil {
			return addr, nil
		}
		if time.Now().After(late) {
			return "", fmt.Errorf("nothing listens on %s after %v: the server said\n%s", addr, startWithin, &s.said)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// ended returns how the server has ended, and what it has said; nil while it runs.
func (s *Side) ended() error {
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

// end ends the server that was started, with all that it has started itself.
func (s *Side) end() error {
	if s.process != nil {
		s.process.KillGroup()
	}
	if s.source != nil {
		return s.source.Close()
	}
	return nil
}

// comparedAnswers is how many requests are sent to each side to compare their answers.
const comparedAnswers = 20

// differing sends the first requests to both sides, and says where statuses or bodies differ. Only
// answers of HTTP are compared.
func (s *Sides) differing(ctx context.Context) (notes []string, err error) {
	requests := s[1].Target.All()
	requests = requests[:min(len(requests), comparedAnswers)]
	answers := [2][]string{}
	for i := range s {
		one := *s[i].Target
		if !strings.HasPrefix(one.Proto, "http") {
			return nil, nil
		}
		one.Conns, one.Streams = 1, 1
		one.Expect = func(status int) bool {
			answers[i] = append(answers[i], load.StatusName(status))
			return true
		}
		one.Body = func(body []byte) error {
			answers[i][len(answers[i])-1] += fmt.Sprintf(" with %d bytes (CRC %08x)", len(body), crc32.ChecksumIEEE(body))
			return nil
		}
		pool, err := load.Open(ctx, &one)
		if err != nil {
			return nil, err
		}
		defer pool.Close()
		plan := load.Plan{Pacer: load.Constant{For: time.Minute}, Most: int64(len(requests)), Lines: pool.Lines}
		r, err := load.Run(ctx, plan)
		if err == nil && len(answers[i]) < len(requests) {
			err = cmp.Or(context.Cause(ctx), errors.New(strings.Join(r.Reasons(), ", ")))
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s[i].Name, err)
		}
	}
	for i, r := range requests {
		note := fmt.Sprintf("%s %s: the old side answers %s, the new %s", r.Method, r.URL.Path, answers[0][i], answers[1][i])
		if answers[0][i] != answers[1][i] && !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	return notes, nil
}
