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

// A Side is one of the two servers.
type Side struct {
	Name   string
	Target *load.Target
	Server load.Server

	pool *load.Pool
	last load.ServerFigures // when they were read last

	// The server that Serve has started, if it has.
	process *proc.Process
	source  *build.Source // nil for the working tree
}

// Sides are the old server and the new one.
type Sides [2]Side

// Open makes connections to both.
func (s *Sides) Open(ctx context.Context) (err error) {
	for i := range s {
		if s[i].pool, err = load.Open(ctx, s[i].Target); err != nil {
			return fmt.Errorf("%s: %w", s[i].Name, err)
		}
	}
	return nil
}

// Close ends the connections, and the servers that were started, with all that these have started.
func (s *Sides) Close() (err error) {
	for i := range s {
		side := &s[i]
		if side.pool != nil {
			err = errors.Join(err, side.pool.Close())
		}
		if side.process != nil {
			side.process.KillGroup()
		}
		if side.source != nil {
			err = errors.Join(err, side.source.Close())
		}
	}
	return err
}

// startWithin is how long a server may take until it listens; `go run` builds it first.
const startWithin = 5 * time.Minute

// Serve starts the side's server in a revision's code, or for "" in the working tree's, by a shell's
// command, with an address of 127.0.0.1 in place of each {addr}. It waits until something listens
// there. fail, which ends ctx, is told if the server ends.
func (s *Side) Serve(ctx context.Context, fail context.CancelCauseFunc, command, revision string) (addr string, err error) {
	if !strings.Contains(command, "{addr}") {
		return "", fmt.Errorf("%q has no {addr} for the server's address", command)
	}
	port, err := proc.FreePort()
	if err != nil {
		return "", err
	}
	addr = fmt.Sprintf("127.0.0.1:%d", port)
	cmd := exec.Command("sh", "-c", strings.ReplaceAll(command, "{addr}", addr))
	said := &proc.Output{}
	cmd.Stdout, cmd.Stderr = said, said
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
	go func() {
		<-s.process.Done
		fail(fmt.Errorf("%s: the server has ended (%v): it said\n%s", s.Name, s.process.Err(), said))
	}()
	late := time.AfterFunc(startWithin, func() {
		fail(fmt.Errorf("nothing listens on %s after %v: the server said\n%s", addr, startWithin, said))
	})
	defer late.Stop()
	for ctx.Err() == nil {
		if conn, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
			return addr, conn.Close()
		}
		time.Sleep(50 * time.Millisecond)
	}
	return "", context.Cause(ctx)
}

// run sends requests to a side. It is an error if none succeeds: then there is nothing to compare.
func (s *Side) run(ctx context.Context, t *Turns, lasts time.Duration, seed uint64) (*load.Result, error) {
	plan := t.Plan
	plan.Lines, plan.Seed = s.pool.Lines, seed
	plan.Pacer = load.Constant{Rate: t.Rate, For: lasts}
	r, err := load.Run(ctx, plan)
	if err := cmp.Or(err, context.Cause(ctx)); err != nil {
		return nil, err
	}
	if r.Failed() == r.Done && r.Planned > 0 {
		most := append(r.Reasons(), "none was answered")
		return nil, fmt.Errorf("%s: all %d requests of a slice failed: %s", s.Name, r.Planned, most[0])
	}
	return r, nil
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
