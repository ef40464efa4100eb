package pgtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
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

// cluster is a scratch cluster and the processes that belong to it.
type cluster struct {
	dir      string // holds everything: data, socket and log
	port     int
	password string // for TCP, which any user of the machine could connect to; the socket's folder is private

	server   *process
	watchdog *exec.Cmd
	lifeline io.Closer // the watchdog's standard input: closed, by us or by the kernel, it cleans up
}

// process is the server's, of which err is to be read after done is closed.
type process struct {
	pid  int
	done chan struct{}
	err  error
}

// startCluster makes a cluster in a fresh folder and waits until it answers.
func startCluster(ctx context.Context, o Options) (_ *cluster, err error) {
	bin := o.BinDir
	who, err := serverUser()
	if err != nil {
		return nil, err
	}
	dir, err := makeDir(who)
	if err != nil {
		return nil, err
	}
	c := &cluster{dir: dir, password: rand.Text()}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.stop())
		}
	}()
	if err := c.startWatchdog(bin, who); err != nil {
		return nil, err
	}
	if err := c.initdb(ctx, bin, who); err != nil {
		return nil, err
	}
	// The port is free when asked for and may be taken a moment later, so that a failed start is
	// tried again.
	for range 3 {
		if c.port, err = freePort(); err != nil {
			return nil, err
		}
		if c.server, err = startServer(c.command(bin, who, o)); err != nil {
			return nil, err
		}
		if err = c.await(ctx); err == nil || ctx.Err() != nil || !strings.Contains(c.readLog(), "could not bind") {
			return c, err
		}
		kill(c.server)
	}
	return nil, err
}

// makeDir makes a folder that only the server's user can enter, and root.
func makeDir(who *identity) (string, error) {
	candidates := []string{os.TempDir(), "/tmp", "/var/tmp"}
	for _, parent := range candidates {
		// A socket's path has room for about 100 bytes.
		if len(parent) > 60 || !reachable(parent, who) {
			continue
		}
		dir, err := os.MkdirTemp(parent, "pgtest-")
		if err != nil {
			return "", err
		}
		return dir, who.own(dir)
	}
	return "", fmt.Errorf("the server's user cannot reach %s, or its path is too long for a socket", strings.Join(candidates, " or "))
}

// reachable reports whether every folder down to dir lets the server's user pass.
func reachable(dir string, who *identity) bool {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return false
	}
	for d := dir; ; d = filepath.Dir(d) {
		info, err := os.Stat(d)
		if err != nil || !who.mayEnter(info) {
			return false
		}
		if d == filepath.Dir(d) {
			return true
		}
	}
}

func (c *cluster) data() string    { return filepath.Join(c.dir, "data") }
func (c *cluster) logFile() string { return filepath.Join(c.dir, "log") }

func (c *cluster) initdb(ctx context.Context, bin string, who *identity) error {
	pwfile := filepath.Join(c.dir, "password")
	if err := os.WriteFile(pwfile, []byte(c.password), 0o600); err != nil {
		return err
	}
	if err := who.own(pwfile); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", c.data(), "-U", superuser, "--pwfile", pwfile,
		"--auth-local=trust", "--auth-host=scram-sha-256", "--no-sync", "-E", "UTF8", "--locale=C")
	who.apply(cmd)
	cmd.Dir = c.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, bytes.TrimSpace(out))
	}
	return os.Remove(pwfile)
}

func (c *cluster) command(bin string, who *identity, o Options) *exec.Cmd {
	args := []string{"-D", c.data(), "-k", c.dir, "-p", strconv.Itoa(c.port), "-c", "listen_addresses=127.0.0.1"}
	if !o.Fsync {
		args = append(args, "-c", "fsync=off", "-c", "full_page_writes=off")
	}
	for _, name := range slices.Sorted(maps.Keys(o.Settings)) {
		args = append(args, "-c", name+"="+o.Settings[name])
	}
	cmd := exec.Command(filepath.Join(bin, "postgres"), args...)
	cmd.Dir = c.dir
	who.apply(cmd)
	return cmd
}

// await returns when the server answers a query, or ends, or ctx does.
func (c *cluster) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for pause := 10 * time.Millisecond; ; {
		conn, err := pgx.Connect(ctx, c.dsn(Unix))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-c.server.done:
			return fmt.Errorf("the server ended: %v: %s", c.server.err, lastLines(c.readLog(), 5))
		case <-ctx.Done():
			return fmt.Errorf("the server does not answer: %w", err)
		case <-time.After(pause):
		}
	}
}

func (c *cluster) dsn(t Transport) string {
	if t == TCP {
		return fmt.Sprintf("host=127.0.0.1 port=%d user=%s password=%s dbname=postgres sslmode=disable", c.port, superuser, c.password)
	}
	return fmt.Sprintf("host=%s port=%d user=%s dbname=postgres sslmode=disable", keyword(c.dir), c.port, superuser)
}

func (c *cluster) readLog() string {
	text, _ := os.ReadFile(c.logFile())
	return string(text)
}

// stop is also for a cluster that got only half way.
func (c *cluster) stop() error {
	if c.server != nil {
		kill(c.server) // an immediate shutdown: nothing of a scratch cluster is kept
	}
	err := os.RemoveAll(c.dir)
	if c.watchdog != nil {
		c.lifeline.Close()
		c.watchdog.Wait() // whatever it says, there is nothing left for it to do
	}
	return err
}

// startWatchdog starts a process that outlives this one by as long as it takes to stop the server
// and to remove the folder. It has a session of its own, so that a signal to our process group does
// not reach it.
func (c *cluster) startWatchdog(bin string, who *identity) error {
	const script = `read -r x; "$1/pg_ctl" -D "$2/data" stop -m immediate -t 10 >/dev/null 2>&1; rm -rf "$2"`
	cmd := exec.Command("/bin/sh", "-c", script, "pgtest-watchdog", bin, c.dir)
	cmd.Dir = "/"
	who.apply(cmd)
	lifeline, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("watchdog: %w", err)
	}
	c.watchdog, c.lifeline = cmd, lifeline
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

// keyword quotes a value of a libpq keyword string.
func keyword(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
