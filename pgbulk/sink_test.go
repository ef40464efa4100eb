//go:build unix

package pgbulk_test

import (
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"

	"postage/pgbulk/pgtest/pgsink"
)

// startSink starts the sink, which is this test binary again (see TestSinkProcess).
func startSink(t testing.TB) (dsn string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "pgsink")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestSinkProcess$")
	cmd.Env = append(os.Environ(), "POSTAGE_SINK="+filepath.Join(dir, ".s.PGSQL.5432"))
	stdin, err := cmd.StdinPipe() // its end tells the sink to stop
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		cmd.Wait()
		os.RemoveAll(dir)
	})
	if _, err := io.ReadFull(stdout, make([]byte, 6)); err != nil {
		t.Fatal("the sink does not start: ", err)
	}
	return "host=" + dir + " user=x dbname=x sslmode=disable"
}

func TestSinkProcess(t *testing.T) {
	socket := os.Getenv("POSTAGE_SINK")
	if socket == "" {
		t.Skip("runs only as a child process")
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout.WriteString("ready\n")
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	(&pgsink.Server{Types: map[string]uint32{"colD": 3802}}).Serve(l)
}

func openConn(t testing.TB, dsn string) *pgx.Conn {
	conn, err := pgx.Connect(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}
