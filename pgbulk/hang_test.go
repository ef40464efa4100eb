package pgbulk_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"postage/pgbulk"
	"postage/pgbulk/pgtest"
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
	t.Parallel()
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
			_, err := upsert(ctx, conn, v.table, pgbulk.Fallible(source), settings{Strategy: s})
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

// TestSlowSource has a source that takes longer for a row than a statement may take. The time is
// not the statements'.
func TestSlowSource(t *testing.T) {
	t.Parallel()
	for _, padBytes := range []int{1000, 3000, 300_000} { // many rows a statement, values that are referred to, a row a statement
		t.Run(fmt.Sprint(padBytes), func(t *testing.T) { slowSource(t, padBytes) })
	}
}

func slowSource(t *testing.T, padBytes int) {
	t.Parallel()
	conn := connect(t)
	v := newVersioned(t, conn, 600, 1000)
	must(t, conn, "set statement_timeout = '3s'")
	pad := strings.Repeat("q", padBytes)
	_, err := upsert(t.Context(), conn, v.table, pgbulk.Values(seq(v.rows, func(i int) []any {
		if i == 500 {
			time.Sleep(3500 * time.Millisecond)
		}
		if i < 498 {
			return []any{i, 1, pad[:1000]}
		}
		return []any{i, 1, pad}
	})), settings{Strategy: pgbulk.Bind})
	if err != nil {
		t.Errorf("%d bytes: %v", padBytes, err)
	}
	must(t, conn, "set statement_timeout = 0")
	v.check(t, conn, conn, err, 0, 1)
}

// TestLocalizedSeverity has a server that reports an error in its own language and closes the
// connection before it says that it is ready: the error is certain in any language. All tests can
// have a real server that speaks German, where its translations are installed:
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

// TestCancelKeepsConnection cancels a call that waits for a lock: the server answers, and the
// connection stays.
func TestCancelKeepsConnection(t *testing.T) {
	t.Parallel()
	observer := connect(t)
	for _, s := range strategies {
		for _, padBytes := range []int{10, 5000} {
			v := newVersioned(t, observer, 1000, padBytes)
			tx, err := observer.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec(t.Context(), "update "+v.table.Name.Sanitize()+" set pad = 'x' where id = 500"); err != nil {
				t.Fatal(err)
			}
			conn, err := cancelled(t, name(s), func(ctx context.Context, conn *pgx.Conn) error {
				_, err := upsert(ctx, conn, v.table, v.at(1), settings{Strategy: s})
				return err
			})
			tx.Rollback(t.Context())
			v.check(t, observer, conn, err, 0, 1)
		}
	}
	conn, _ := cancelled(t, "exec", func(ctx context.Context, conn *pgx.Conn) error {
		_, err := pgbulk.Exec(ctx, conn, "select pg_sleep($1)", 3600.0)
		return err
	})
	usable(t, conn)
}

// cancelled makes a call whose context ends, on a connection that must be there afterwards.
func cancelled(t *testing.T, what string, call func(context.Context, *pgx.Conn) error) (*pgx.Conn, error) {
	t.Helper()
	return stays(t, what, func(conn *pgx.Conn) error {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		err := call(ctx, conn)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("%s: error %v", what, err)
		}
		return err
	})
}

// stays makes a call that cancels what the server does, on a connection that must be there
// afterwards. On a busy machine the server may not answer within CancelGrace: so there are three
// tries.
func stays(t *testing.T, what string, call func(*pgx.Conn) error) (*pgx.Conn, error) {
	t.Helper()
	for range 3 {
		conn := connect(t)
		if err := call(conn); !conn.IsClosed() {
			return conn, err
		} else {
			t.Logf("%s: %v", what, err)
		}
		// Its backend may wait for the lock still, and must not get it.
		other := connect(t)
		must(t, other, "select pg_terminate_backend($1)", conn.PgConn().PID())
		gone(t, other, conn.PgConn().PID())
	}
	t.Fatalf("%s: three connections were closed", what)
	return nil, nil
}

// TestServerHangs has a server that neither reads nor answers: the call must still end, and say
// that the connection is closed.
func TestServerHangs(t *testing.T) {
	t.Parallel()
	observer := connect(t)
	v := newVersioned(t, observer, 1000, 20_000)
	config, err := pgx.ParseConfig(dsn(t, pgtest.Unix))
	if err != nil {
		t.Fatal(err)
	}
	var cutOff atomic.Bool
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if cutOff.Load() {
			return nil, errors.New("no route")
		}
		return dial(ctx, network, addr)
	}
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := observer.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "lock table "+v.table.Name.Sanitize()+" in share mode"); err != nil {
		t.Fatal(err)
	}
	cutOff.Store(true) // so that the cancel request does not get through
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err = upsert(ctx, conn, v.table, v.at(1), settings{Strategy: pgbulk.Bind})
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("took %v", took)
	}
	var e *pgbulk.Error
	if !errors.As(err, &e) || !e.Closed || !conn.IsClosed() || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, connection closed: %v", err, conn.IsClosed())
	}
	tx.Rollback(t.Context())
	gone(t, observer, conn.PgConn().PID())
	if got := v.version(t, observer); got != 0 {
		t.Errorf("version %d", got)
	}
}

// TestChattyServer has the server send a notice for every row, far more than the sockets hold,
// while we write.
func TestChattyServer(t *testing.T) {
	conn := connect(t)
	must(t, conn, `create or replace function chat() returns trigger language plpgsql as
		$$ begin raise notice '%', repeat('x', 4000); perform pg_notify('chat', new.id::text); return new; end $$`)
	must(t, conn, "listen chat")
	for _, s := range strategies {
		v := newVersioned(t, conn, 5000, 1000)
		must(t, conn, "create trigger chat before insert on "+v.table.Name.Sanitize()+" for each row execute function chat()")
		if _, err := upsert(t.Context(), conn, v.table, v.at(1), settings{Strategy: s}); err != nil {
			t.Fatal(err)
		}
		for range v.rows {
			if _, err := conn.WaitForNotification(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		v.check(t, conn, conn, nil, 0, 1)
	}
	if _, err := pgbulk.Exec(t.Context(), conn, "select repeat('x', 8000), $1::text from generate_series(1, 2000)", strings.Repeat("y", 1000)); err != nil {
		t.Fatal(err)
	}
	usable(t, conn)
}

// TestGoexit ends the goroutine from within the source.
func TestGoexit(t *testing.T) {
	observer := connect(t)
	for _, s := range strategies {
		v := newVersioned(t, observer, 1000, 1000)
		conn := connect(t)
		done := make(chan struct{})
		go func() {
			defer close(done)
			upsert(context.Background(), conn, v.table, pgbulk.Values(seq(v.rows, func(i int) []any {
				if i == 900 {
					runtime.Goexit()
				}
				return []any{i, 1, v.pad}
			})), settings{Strategy: s})
		}()
		<-done
		v.check(t, observer, conn, &pgbulk.Error{Err: errors.New("goexit")}, 0, 1)
	}
}
