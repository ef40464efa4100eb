//go:build unix

package pgtest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"postage/pgbulk/pgtest"
)

// start makes a scratch cluster, or skips the test if there is no PostgreSQL. In CI that is a
// failure.
func start(t *testing.T, o pgtest.Options) *pgtest.Server {
	t.Helper()
	s, err := pgtest.Start(t.Context(), o)
	if errors.Is(err, pgtest.ErrNone) && os.Getenv("CI") != "true" {
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
	s := start(t, pgtest.Options{Settings: map[string]string{"work_mem": "7MB"}})
	t.Logf("PostgreSQL up after %v", time.Since(began))
	for _, transport := range []pgtest.Transport{pgtest.Unix, pgtest.TCP} {
		onTCP := query[bool](t, s.DSN(transport), "select inet_server_addr() is not null")
		if onTCP != (transport == pgtest.TCP) {
			t.Errorf("DSN(%s) leads over TCP: %v", transport, onTCP)
		}
	}
	for name, want := range map[string]string{"fsync": "off", "work_mem": "7MB"} {
		if got := query[string](t, s.DSN(pgtest.Unix), "show "+name); got != want {
			t.Errorf("%s = %s, want %s", name, got, want)
		}
	}
	if _, err := pgx.Connect(t.Context(), strings.Replace(s.DSN(pgtest.TCP), "password=", "password=x", 1)); err == nil {
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
	s := start(t, pgtest.Options{Fsync: true})
	defer s.Stop()
	if got := query[string](t, s.DSN(pgtest.Unix), "show fsync"); got != "on" {
		t.Errorf("fsync = %s", got)
	}
}

// TestKilledParent starts this test binary again as a program that starts a cluster, kills it with
// SIGKILL, and looks for what is left.
func TestKilledParent(t *testing.T) {
	start(t, pgtest.Options{}).Stop() // skips if there is no PostgreSQL
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelperParent$")
	cmd.Env = append(os.Environ(), "PGTEST_PARENT=1")
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
	if os.Getenv("PGTEST_PARENT") == "" {
		t.Skip("runs only as the child of TestKilledParent")
	}
	s := start(t, pgtest.Options{})
	os.Stdout.WriteString(s.Dir() + "\n")
	time.Sleep(time.Minute)
}

func TestNoPrograms(t *testing.T) {
	_, err := pgtest.Start(t.Context(), pgtest.Options{BinDir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "no initdb") {
		t.Errorf("a folder without programs: %v", err)
	}
}
