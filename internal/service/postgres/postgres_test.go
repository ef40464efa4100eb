//go:build unix

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"postage/internal/service/postgres"
	"postage/internal/sys/proc"
	"postage/pgbulk/pgtest"
)

// start makes a scratch cluster, or skips the test if there is no PostgreSQL. In CI that is a
// failure.
func start(t *testing.T, o postgres.Options) *postgres.Server {
	t.Helper()
	o.NoDownload = true
	s, err := postgres.Start(t.Context(), o)
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

func TestProcessCPU(t *testing.T) {
	s := start(t, postgres.Options{})
	defer s.Stop()
	conn, err := pgx.Connect(t.Context(), s.DSN(pgtest.Unix))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	backend := int(conn.PgConn().PID())
	before, err := proc.CPUOf(backend)
	if errors.Is(err, proc.ErrNotAvailable) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "select count(*) from generate_series(1, 2000000)"); err != nil {
		t.Fatal(err)
	}
	after, err := proc.CPUOf(backend)
	if err != nil {
		t.Fatal(err)
	}
	if d := after - before; d < 20*time.Millisecond || d > 30*time.Second {
		t.Errorf("two million rows counted in %v of CPU", d)
	}
}

func TestUsersServer(t *testing.T) {
	s := start(t, postgres.Options{})
	defer s.Stop()
	dsn := s.DSN(pgtest.Unix)
	const mine = "select count(*) from pg_namespace where nspname = 'mine'"

	u, err := postgres.Start(t.Context(), postgres.Options{DSN: dsn, Schema: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	if got := query[string](t, u.DSN(pgtest.TCP), "select current_schema()"); got != "mine" || u.Scratch() {
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
	if _, err := postgres.Start(t.Context(), postgres.Options{Schema: "mine"}); err == nil || !strings.Contains(err.Error(), "was not made by postage") {
		t.Errorf("a schema that is not ours: %v", err)
	}
	if n := query[int](t, dsn, mine); n != 1 {
		t.Error("somebody else's schema was dropped")
	}
}

// TestSchemaIsFree has a connection that the server still takes for open when Stop returns, as it
// may for a moment: the schema can be used by another run nevertheless.
func TestSchemaIsFree(t *testing.T) {
	s := start(t, postgres.Options{})
	defer s.Stop()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	config, err := pgx.ParseConfig(s.DSN(pgtest.TCP))
	if err != nil {
		t.Fatal(err)
	}
	var passing sync.WaitGroup
	stopped := make(chan struct{})
	defer func() { l.Close(); close(stopped); passing.Wait() }()
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
		passing.Go(func() { <-stopped; upstream.Close() })
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
	dsn := strings.Replace(s.DSN(pgtest.TCP), fmt.Sprintf("port=%d", config.Port), "port="+port, 1)
	u, err := postgres.Start(t.Context(), postgres.Options{DSN: dsn, Schema: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Stop(); err != nil {
		t.Fatal(err)
	}
	u, err = postgres.Start(t.Context(), postgres.Options{DSN: s.DSN(pgtest.Unix), Schema: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Stop(); err != nil {
		t.Error(err)
	}
}
