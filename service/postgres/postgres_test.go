//go:build unix

package postgres_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after Stop, %s: %v", s.Dir(), err)
	}
	if err := syscall.Kill(s.Pid(), 0); err == nil {
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

func TestBackendCPU(t *testing.T) {
	s := start(t, postgres.Options{})
	defer s.Stop()
	before, err := s.BackendCPU()
	if errors.Is(err, postgres.ErrNotAvailable) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	query[int](t, s.DSN(postgres.Unix), "select count(*) from generate_series(1, 2000000)")
	after, err := s.BackendCPU()
	if err != nil {
		t.Fatal(err)
	}
	if d := after - before; d < 20*time.Millisecond || d > 30*time.Second {
		t.Errorf("two million rows counted in %v of CPU", d)
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
	pid, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := bytes.Cut(pid, []byte("\n"))
	process := filepath.Join("/proc", string(first))
	cmd.Process.Kill()
	cmd.Wait()
	for range 100 {
		_, err1 := os.Stat(dir)
		_, err2 := os.Stat(process)
		if err1 != nil && err2 != nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("10 s after kill -9 of the parent, %s or process %s is still there", dir, first)
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
	if _, err := u.BackendCPU(); !errors.Is(err, postgres.ErrNotAvailable) {
		t.Errorf("BackendCPU of a user's server: %v", err)
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

func TestNoPostgreSQL(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var said bytes.Buffer
	_, err := postgres.Start(t.Context(), postgres.Options{IgnoreEnvironment: true, BinDir: t.TempDir(), Log: &said})
	if err == nil || !strings.Contains(err.Error(), "no initdb") {
		t.Errorf("a folder without programs: %v", err)
	}
}
