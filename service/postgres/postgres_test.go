//go:build unix

package postgres_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"postage/service/postgres"
)

// start makes a scratch cluster, or skips the test if there is no PostgreSQL. In CI that is a failure.
func start(t *testing.T, o postgres.Options) *postgres.Server {
	t.Helper()
	o.IgnoreEnvironment, o.NoDownload = true, true
	s, err := postgres.Start(t.Context(), o)
	if errors.Is(err, postgres.ErrNone) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func query[T any](t *testing.T, dsn, sql string) T {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var v T
	if err := conn.QueryRow(t.Context(), sql).Scan(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// postmaster is the id of the server's first process.
func postmaster(t *testing.T, dir string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestScratchCluster(t *testing.T) {
	began := time.Now()
	s := start(t, postgres.Options{Settings: map[string]string{"work_mem": "7MB"}})
	t.Logf("PostgreSQL %s up after %v", s.Version(), time.Since(began))
	for _, transport := range []postgres.Transport{postgres.Unix, postgres.TCP} {
		onTCP := query[bool](t, s.DSN(transport), "select inet_server_addr() is not null")
		if onTCP != (transport == postgres.TCP) {
			t.Errorf("DSN(%s) leads over TCP: %v", transport, onTCP)
		}
	}
	for name, want := range map[string]string{"fsync": "off", "work_mem": "7MB"} {
		if got := query[string](t, s.DSN(postgres.Unix), "show "+name); got != want {
			t.Errorf("%s = %s, want %s", name, got, want)
		}
	}
	if _, err := pgx.Connect(t.Context(), strings.Replace(s.DSN(postgres.TCP), "password=", "password=x", 1)); err == nil {
		t.Error("TCP lets in a wrong password")
	}
	pid := postmaster(t, s.Dir())
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after Stop, %s: %v", s.Dir(), err)
	}
	if err := syscall.Kill(pid, 0); err == nil {
		t.Error("the server is still there after Stop")
	}
}

func TestFsyncOn(t *testing.T) {
	s := start(t, postgres.Options{Fsync: true})
	defer s.Stop()
	if got := query[string](t, s.DSN(postgres.Unix), "show fsync"); got != "on" {
		t.Errorf("fsync = %s", got)
	}
}

func TestProcessCPU(t *testing.T) {
	s := start(t, postgres.Options{})
	defer s.Stop()
	conn, err := pgx.Connect(t.Context(), s.DSN(postgres.Unix))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	backend := int(conn.PgConn().PID())
	before, err := postgres.ProcessCPU(backend)
	if errors.Is(err, postgres.ErrNotAvailable) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "select count(*) from generate_series(1, 2000000)"); err != nil {
		t.Fatal(err)
	}
	after, err := postgres.ProcessCPU(backend)
	if err != nil {
		t.Fatal(err)
	}
	if d := after - before; d < 20*time.Millisecond || d > 30*time.Second {
		t.Errorf("two million rows counted in %v of CPU", d)
	}
	if _, err := postgres.ProcessCPU(1 << 30); !errors.Is(err, postgres.ErrNotAvailable) {
		t.Errorf("CPU time of no process: %v", err)
	}
}

// TestKilledParent starts this test binary again as a program that starts a cluster, kills it with
// SIGKILL, and looks for what is left.
func TestKilledParent(t *testing.T) {
	start(t, postgres.Options{}).Stop() // skips if there is no PostgreSQL
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelperParent$")
	cmd.Env = append(os.Environ(), "POSTAGE_TEST_PARENT=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("no line from the helper")
	}
	dir := lines.Text()
	pid := postmaster(t, dir)
	process := fmt.Sprintf("/proc/%d", pid)
	cmd.Process.Kill()
	cmd.Wait()
	for range 600 {
		_, err1 := os.Stat(dir)
		_, err2 := os.Stat(process)
		if err1 != nil && err2 != nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("a minute after kill -9 of the parent, %s or process %d is still there", dir, pid)
}

func TestHelperParent(t *testing.T) {
	if os.Getenv("POSTAGE_TEST_PARENT") == "" {
		t.Skip("runs only as the child of TestKilledParent")
	}
	s := start(t, postgres.Options{})
	os.Stdout.WriteString(s.Dir() + "\n")
	time.Sleep(time.Minute)
}

func TestUsersServer(t *testing.T) {
	s := start(t, postgres.Options{})
	defer s.Stop()
	dsn := s.DSN(postgres.Unix)
	const mine = "select count(*) from pg_namespace where nspname = 'mine'"

	u, err := postgres.Start(t.Context(), postgres.Options{DSN: dsn, Schema: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	if got := query[string](t, u.DSN(postgres.TCP), "select current_schema()"); got != "mine" || u.Scratch() {
		t.Errorf("schema %q, scratch %v", got, u.Scratch())
	}
	if _, err := postgres.Start(t.Context(), postgres.Options{DSN: dsn, Schema: "mine"}); err == nil || !strings.Contains(err.Error(), "another run") {
		t.Errorf("second run in the same schema: %v", err)
	}
	if err := u.Stop(); err != nil {
		t.Fatal(err)
	}
	if n := query[int](t, dsn, mine); n != 0 {
		t.Error("the schema is still there after Stop")
	}

	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), "create schema mine"); err != nil {
		t.Fatal(err)
	}
	t.Setenv("POSTAGE_DSN", dsn)
	if _, err := postgres.Start(t.Context(), postgres.Options{Schema: "mine"}); err == nil || !strings.Contains(err.Error(), "not ours") {
		t.Errorf("a schema that is not ours: %v", err)
	}
	if n := query[int](t, dsn, mine); n != 1 {
		t.Error("somebody else's schema was dropped")
	}
}

// TestSchemaIsFree has a connection that the server still takes for open when Stop returns, as it may for a moment: the
// schema can be used by another run nevertheless.
func TestSchemaIsFree(t *testing.T) {
	s := start(t, postgres.Options{})
	defer s.Stop()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	config, err := pgx.ParseConfig(s.DSN(postgres.TCP))
	if err != nil {
		t.Fatal(err)
	}
	var passing sync.WaitGroup
	over := make(chan struct{})
	defer func() { l.Close(); close(over); passing.Wait() }()
	passing.Go(func() {
		client, err := l.Accept()
		if err != nil {
			return
		}
		defer client.Close()
		upstream, err := net.Dial("tcp", net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))))
		if err != nil {
			return
		}
		passing.Go(func() { <-over; upstream.Close() })
		passing.Go(func() { io.Copy(client, upstream) })
		message := make([]byte, 64<<10)
		for {
			n, err := client.Read(message)
			if err != nil || string(message[:n]) == "X\x00\x00\x00\x04" { // Terminate
				return
			}
			if _, err := upstream.Write(message[:n]); err != nil {
				return
			}
		}
	})
	_, port, _ := net.SplitHostPort(l.Addr().String())
	dsn := strings.Replace(s.DSN(postgres.TCP), fmt.Sprintf("port=%d", config.Port), "port="+port, 1)
	u, err := postgres.Start(t.Context(), postgres.Options{DSN: dsn, Schema: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Stop(); err != nil {
		t.Fatal(err)
	}
	u, err = postgres.Start(t.Context(), postgres.Options{DSN: s.DSN(postgres.Unix), Schema: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Stop(); err != nil {
		t.Error(err)
	}
}

func TestNoPostgreSQL(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var said bytes.Buffer
	_, err := postgres.Start(t.Context(), postgres.Options{IgnoreEnvironment: true, BinDir: t.TempDir(), Log: &said})
	if err == nil || !strings.Contains(err.Error(), "no initdb") {
		t.Errorf("a folder without programs: %v", err)
	}
}
