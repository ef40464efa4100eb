package pgtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// superuser is the scratch cluster's only role.
const superuser = "postgres"

// process is the server's first process. Read err after done is closed.
type process struct {
	*os.Process
	done chan struct{}
	err  error
}

// newServer makes a cluster in a fresh folder and waits until it answers.
func newServer(ctx context.Context, o Options) (_ *Server, err error) {
	bin := o.BinDir
	who, err := serverUser()
	if err != nil {
		return nil, err
	}
	dir, err := makeDir(who)
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, password: rand.Text()}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	if err := s.startWatchdog(bin, who); err != nil {
		return nil, err
	}
	if err := s.initdb(ctx, bin, who); err != nil {
		return nil, err
	}
	// The port is free when asked for and may be taken a moment later, so that a failed start is
	// tried again.
	for range 3 {
		if s.port, err = freePort(); err != nil {
			return nil, err
		}
		if s.process, err = startServer(s.command(bin, who, o), o.Start); err != nil {
			return nil, err
		}
		if err = s.await(ctx); err == nil || ctx.Err() != nil || !strings.Contains(s.readLog(), "could not bind") {
			return s, err
		}
		kill(s.process)
	}
	return nil, err
}

// makeDir makes a folder that only the server's user can enter, and root.
func makeDir(who *identity) (string, error) {
	parent := os.TempDir()
	if len(parent) > 60 { // a socket's path has room for about 100 bytes
		parent = "/tmp"
	}
	dir, err := os.MkdirTemp(parent, "pgtest-")
	if err != nil {
		return "", err
	}
	return dir, who.own(dir)
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) initdb(ctx context.Context, bin string, who *identity) error {
	pwfile := filepath.Join(s.dir, "password")
	if err := os.WriteFile(pwfile, []byte(s.password), 0o600); err != nil {
		return err
	}
	if err := who.own(pwfile); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", s.data(), "-U", superuser, "--pwfile", pwfile,
		"--auth-local=trust", "--auth-host=scram-sha-256", "--no-sync", "-E", "UTF8", "--locale=C")
	who.apply(cmd)
	cmd.Dir = s.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb in %s (TMPDIR names another place): %w: %s", s.dir, err, bytes.TrimSpace(out))
	}
	// Whoever reaches an address that it listens on, and knows the password, may come in.
	hba, err := os.OpenFile(filepath.Join(s.data(), "pg_hba.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = hba.WriteString("host all all all scram-sha-256\n")
	return errors.Join(err, hba.Close(), os.Remove(pwfile))
}

func (s *Server) command(bin string, who *identity, o Options) *exec.Cmd {
	args := []string{"-D", s.data(), "-k", s.dir, "-p", strconv.Itoa(s.port), "-c", "listen_addresses=127.0.0.1"}
	if !o.Fsync {
		args = append(args, "-c", "fsync=off", "-c", "full_page_writes=off")
	}
	for _, name := range slices.Sorted(maps.Keys(o.Settings)) {
		args = append(args, "-c", name+"="+o.Settings[name])
	}
	cmd := exec.Command(filepath.Join(bin, "postgres"), args...)
	cmd.Dir = s.dir
	who.apply(cmd)
	return cmd
}

// await returns when the server answers a query, or ends, or ctx does.
func (s *Server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for pause := 10 * time.Millisecond; ; {
		conn, err := pgx.Connect(ctx, s.DSN(Unix))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-s.process.done:
			return fmt.Errorf("the server ended: %v: %s", s.process.err, lastLines(s.readLog(), 5))
		case <-ctx.Done():
			return fmt.Errorf("the server does not answer: %w", err)
		case <-time.After(pause):
		}
	}
}

// DSN returns the connection string for a transport, in libpq's keyword format. Its user is a
// superuser.
func (s *Server) DSN(t Transport) string {
	if t == TCP {
		return fmt.Sprintf("host=127.0.0.1 port=%d user=%s password=%s dbname=postgres sslmode=disable", s.port, superuser, s.password)
	}
	return fmt.Sprintf("host='%s' port=%d user=%s dbname=postgres sslmode=disable", s.dir, s.port, superuser)
}

func (s *Server) readLog() string {
	text, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	return string(text)
}

// stop is also for a cluster that got only half way.
func (s *Server) stop() error {
	if s.process != nil {
		kill(s.process) // an immediate shutdown: nothing of a scratch cluster is kept
	}
	err := os.RemoveAll(s.dir)
	if s.watchdog != nil {
		s.lifeline.Close()
		s.watchdog.Wait() // whatever it says, there is nothing left for it to do
	}
	return err
}

// startWatchdog starts a process that outlives this one by as long as it takes to stop the server
// and to remove the folder. It has a session of its own, so that a signal to our process group does
// not reach it.
func (s *Server) startWatchdog(bin string, who *identity) error {
	const script = `read -r x; "$1/pg_ctl" -D "$2/data" stop -m immediate -t 10 >/dev/null 2>&1; rm -rf "$2"`
	cmd := exec.Command("/bin/sh", "-c", script, "pgtest-watchdog", bin, s.dir)
	cmd.Dir = "/"
	who.apply(cmd)
	lifeline, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("watchdog: %w", err)
	}
	s.watchdog, s.lifeline = cmd, lifeline
	return nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// freePort returns a loopback TCP port that was free a moment ago.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
