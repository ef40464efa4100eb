package pgbulk_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"postage/pgbulk"
)

// TestExecCopyFromStdin has the server wait for data that does not come.
func TestExecCopyFromStdin(t *testing.T) {
	conn := connect(t)
	table := newTable(t, conn, "a int").Sanitize()
	for range 2 {
		ctx, cancel := contextWithTimeout(t, 30*time.Second)
		_, err := pgbulk.Exec(ctx, conn, "copy "+table+" from stdin")
		cancel()
		if err == nil || !strings.Contains(err.Error(), "use Insert") || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		usable(t, conn)
	}
	if _, err := pgbulk.Exec(t.Context(), conn, "copy (select repeat('x', 1000) from generate_series(1, 1000)) to stdout"); err != nil {
		t.Error(err)
	}
	usable(t, conn)
}

// TestSourceOnSameConnection has a source that asks the connection that is being written to.
func TestSourceOnSameConnection(t *testing.T) {
	for _, s := range strategies {
		for _, at := range []int{0, 1, 700, 1999} {
			if raceEnabled && at > 1 {
				continue // such a source is a race, if the server's messages are read already
			}
			conn := connect(t)
			v := newVersioned(t, conn, 2000, 1000)
			var asked error
			source := func(yield func([]any, error) bool) {
				for i := range v.rows {
					if i == at {
						var one int
						if asked = conn.QueryRow(context.Background(), "select 1").Scan(&one); asked != nil {
							yield(nil, asked)
							return
						}
					}
					if !yield([]any{i, 1, v.pad}, nil) {
						return
					}
				}
			}
			ctx, cancel := contextWithTimeout(t, 30*time.Second)
			_, err := pgbulk.Upsert(ctx, conn, v.table, pgbulk.Fallible(source), pgbulk.Options{Strategy: s})
			cancel()
			if asked == nil || !strings.Contains(asked.Error(), "busy") {
				t.Errorf("%s, row %d: the source's query: %v, want that the connection is busy", name(s), at, asked)
			}
			var e *pgbulk.Error
			if !errors.As(err, &e) || e.Row != at || e.Closed {
				t.Errorf("%s, row %d: %v", name(s), at, err)
			}
			v.check(t, connect(t), conn, err, 0, 1)
		}
	}
}

// TestSlowSource has a source that takes longer for a row than a statement may take. The time is not the statements'.
func TestSlowSource(t *testing.T) {
	conn := connect(t)
	for _, padBytes := range []int{1000, 3000, 300_000} { // many rows a statement, values that are referred to, a row a statement
		v := newVersioned(t, conn, 600, 1000)
		must(t, conn, "set statement_timeout = '1s'")
		pad := strings.Repeat("q", padBytes)
		_, err := pgbulk.Upsert(t.Context(), conn, v.table, pgbulk.Values(seq(v.rows, func(i int) []any {
			if i == 500 {
				time.Sleep(1500 * time.Millisecond)
			}
			if i < 498 {
				return []any{i, 1, pad[:1000]}
			}
			return []any{i, 1, pad}
		})), pgbulk.Options{Strategy: pgbulk.Bind})
		if err != nil {
			t.Errorf("%d bytes: %v", padBytes, err)
		}
		must(t, conn, "set statement_timeout = 0")
		v.check(t, conn, conn, err, 0, 1)
	}
}

// TestLocalizedSeverity has a server that reports an error in its own language and is gone before it says that it is ready: the error
// is certain, whatever it is called. All tests can have a real server that speaks German, where its translations are installed:
//
//	LANGUAGE=de PGOPTIONS='-c lc_messages=C.UTF-8' go test ./pgbulk
func TestLocalizedSeverity(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	done := make(chan error, 1)
	go func() { done <- refuseOnce(l) }()
	conn, err := pgx.Connect(t.Context(), "postgres://u@"+l.Addr().String()+"/d?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	_, err = pgbulk.Exec(t.Context(), conn, "insert into t values (1)")
	var e *pgbulk.Error
	if !errors.As(err, &e) || e.Uncertain || codeOf(err) != "23505" {
		t.Errorf("error %v", err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// refuseOnce describes a statement and refuses to run it.
func refuseOnce(l net.Listener) error {
	c, err := l.Accept()
	if err != nil {
		return err
	}
	defer c.Close()
	b := pgproto3.NewBackend(c, c)
	if _, err := b.ReceiveStartupMessage(); err != nil {
		return err
	}
	b.Send(&pgproto3.AuthenticationOk{})
	b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	if err := b.Flush(); err != nil {
		return err
	}
	for syncs := 0; syncs < 2; {
		m, err := b.Receive()
		if err != nil {
			return err
		}
		switch m.(type) {
		case *pgproto3.Describe:
			b.Send(&pgproto3.ParameterDescription{})
			b.Send(&pgproto3.NoData{})
		case *pgproto3.Parse:
			b.Send(&pgproto3.ParseComplete{})
		case *pgproto3.Execute:
			b.Send(&pgproto3.ErrorResponse{Severity: "FEHLER", SeverityUnlocalized: "ERROR", Code: "23505", Message: "doppelter Schl\u00fcsselwert"})
		case *pgproto3.Sync:
			if syncs++; syncs == 1 {
				b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
			}
			if err := b.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}
