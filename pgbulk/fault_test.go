package pgbulk_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"postage/pgbulk"
	"postage/pgbulk/pgtest"
)

// versioned is a table whose rows all carry the same version, so that a half-applied call shows.
type versioned struct {
	table pgbulk.Table
	rows  int
	pad   string
}

func newVersioned(t testing.TB, conn *pgx.Conn, rows, padBytes int) *versioned {
	v := &versioned{rows: rows, pad: strings.Repeat("p", padBytes)}
	v.table = pgbulk.Table{Name: newTable(t, conn, "id int primary key, version int not null check (version <> -1), pad text"), Columns: []string{"id", "version", "pad"}, Key: []string{"id"}}
	if _, err := pgbulk.Insert(context.Background(), conn, v.table, v.at(0), pgbulk.Options{}); err != nil {
		t.Fatal(err)
	}
	return v
}

func (v *versioned) at(version int) pgbulk.Rows { return pgbulk.Fallible(v.rowsAt(version)) }

func (v *versioned) rowsAt(version int) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for i := range v.rows {
			if !yield([]any{i, version, v.pad}, nil) {
				return
			}
		}
	}
}

// A writing is one of the ways to give all rows another version. returned is called with each row that comes back, if rows do.
type writing struct {
	name  string
	write func(ctx context.Context, conn *pgx.Conn, v *versioned, rows iter.Seq2[[]any, error], o pgbulk.Options, returned func() error) error
}

type comesBack struct {
	ID  int
	Pad string
}

var writings = []writing{
	{"upsert", func(ctx context.Context, conn *pgx.Conn, v *versioned, rows iter.Seq2[[]any, error], o pgbulk.Options, _ func() error) error {
		_, err := pgbulk.Upsert(ctx, conn, v.table, pgbulk.Fallible(rows), o)
		return err
	}},
	{"update", func(ctx context.Context, conn *pgx.Conn, v *versioned, rows iter.Seq2[[]any, error], o pgbulk.Options, _ func() error) error {
		_, err := pgbulk.Update(ctx, conn, v.table, pgbulk.Fallible(rows), o)
		return err
	}},
	{"set to", func(ctx context.Context, conn *pgx.Conn, v *versioned, rows iter.Seq2[[]any, error], o pgbulk.Options, _ func() error) error {
		o.SetTo = map[string]pgbulk.SQL{"version": "case when excluded.version = -1 then -1 else t.version + 1 end"}
		o.Where = "t.id = excluded.id"
		_, err := pgbulk.Upsert(ctx, conn, v.table, pgbulk.Fallible(rows), o)
		return err
	}},
	{"upsert returning", func(ctx context.Context, conn *pgx.Conn, v *versioned, rows iter.Seq2[[]any, error], o pgbulk.Options, returned func() error) error {
		o.Returning = pgbulk.ReturnInserted(func(comesBack, bool) error { return returned() })
		_, err := pgbulk.Upsert(ctx, conn, v.table, pgbulk.Fallible(rows), o)
		return err
	}},
	{"update returning", func(ctx context.Context, conn *pgx.Conn, v *versioned, rows iter.Seq2[[]any, error], o pgbulk.Options, returned func() error) error {
		o.Returning = pgbulk.Return(func(comesBack) error { return returned() })
		_, err := pgbulk.Update(ctx, conn, v.table, pgbulk.Fallible(rows), o)
		return err
	}},
	{"writer", func(ctx context.Context, conn *pgx.Conn, v *versioned, rows iter.Seq2[[]any, error], o pgbulk.Options, _ func() error) error {
		w, err := pgbulk.NewWriter[[]any](ctx, conn, pgbulk.OpUpsert, v.table, pgbulk.WriterOptions{Options: o})
		if err != nil {
			return err
		}
		defer w.Close()
		n := 0
		for row, err := range rows {
			if err == nil {
				err = w.Write(row)
			} else {
				err = &pgbulk.Error{Row: n, LastRow: n, Err: err}
			}
			if err != nil {
				return err
			}
			n++
		}
		return w.Flush()
	}},
}

// version is that of all rows.
func (v *versioned) version(t testing.TB, conn *pgx.Conn) int {
	t.Helper()
	var low, high, n int
	err := conn.QueryRow(context.Background(), "select min(version), max(version), count(*) from "+v.table.Name.Sanitize()).Scan(&low, &high, &n)
	if err != nil {
		t.Fatal(err)
	}
	if low != high || n != v.rows {
		t.Fatalf("half applied: versions %d to %d, %d rows of %d", low, high, n, v.rows)
	}
	return low
}

// check says whether what a call returned, what the connection says and what the table has agree.
// It returns the version that the table has.
func (v *versioned) check(t testing.TB, observer, conn *pgx.Conn, err error, before, after int) int {
	t.Helper()
	var e *pgbulk.Error
	if err != nil && !errors.As(err, &e) {
		t.Fatalf("error of type %T: %v", err, err)
	}
	if conn.IsClosed() {
		// The server may take a moment to see that the client is gone; only then it is settled what it did.
		gone(t, observer, conn.PgConn().PID())
	} else if status := conn.PgConn().TxStatus(); status != 'I' {
		t.Fatalf("transaction status %c after %v", status, err)
	} else {
		usable(t, conn)
	}
	if err != nil && e.Closed != conn.IsClosed() {
		t.Fatalf("closed: %v, reported: %v: %v", conn.IsClosed(), e.Closed, err)
	}
	got := v.version(t, observer)
	switch {
	case err == nil && got != after:
		t.Fatalf("no error, and version %d instead of %d", got, after)
	case err != nil && got != before && !(e.Uncertain && got == after):
		t.Fatalf("version %d instead of %d after error %v", got, before, err)
	}
	return got
}

// gone waits until a backend has ended.
func gone(t testing.TB, observer *pgx.Conn, pid uint32) {
	t.Helper()
	for range 12_000 {
		if get[int](t, observer, "select count(*) from pg_stat_activity where pid = $1", pid) == 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("backend %d does not end", pid)
}

// proxy passes bytes to the server and cuts the connection after as many as it is told.
type proxy struct {
	listener net.Listener
	left     atomic.Int64 // bytes to the server until the cut; negative is never
}

func newProxy(t testing.TB) *proxy {
	t.Helper()
	config, err := pgx.ParseConfig(dsn(t, pgtest.TCP))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l}
	p.left.Store(-1)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			upstream, err := net.Dial("tcp", net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))))
			if err != nil {
				client.Close()
				continue
			}
			all.Go(func() { io.Copy(client, upstream); client.Close() })
			all.Go(func() { p.pass(client, upstream) })
		}
	})
	t.Cleanup(func() { l.Close(); all.Wait() })
	return p
}

func (p *proxy) pass(client, upstream net.Conn) {
	defer client.Close()
	defer upstream.Close()
	buf := make([]byte, 16<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		if left := p.left.Load(); left >= 0 {
			if int64(n) >= left {
				upstream.Write(buf[:left])
				// No farewell: a reset on both sides, as of a cable that was pulled and plugged in again.
				client.(*net.TCPConn).SetLinger(0)
				upstream.(*net.TCPConn).SetLinger(0)
				return
			}
			p.left.Store(left - int64(n))
		}
		if _, err := upstream.Write(buf[:n]); err != nil {
			return
		}
	}
}

// connect connects through the proxy, without a cut.
func (p *proxy) connect(t testing.TB) *pgx.Conn {
	t.Helper()
	p.left.Store(-1)
	config, err := pgx.ParseConfig(dsn(t, pgtest.TCP))
	if err != nil {
		t.Fatal(err)
	}
	config.Port = uint16(p.listener.Addr().(*net.TCPAddr).Port)
	conn, err := pgx.ConnectConfig(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) }) // before the proxy's, which waits for it
	return conn
}

// TestConnectionReset cuts the connection at every 64 KB, in each strategy; in ways of writing other than Upsert at every 256 KB, or with
// POSTAGE_LONG at as many places.
func TestConnectionReset(t *testing.T) {
	observer := connect(t)
	for _, s := range []pgbulk.Strategy{pgbulk.Bind, pgbulk.Copy, pgbulk.Unnest} {
		for _, how := range writings {
			if testing.Short() && how.name != "upsert" {
				continue
			}
			t.Run(name(s)+"/"+how.name, func(t *testing.T) {
				p := newProxy(t)
				v := newVersioned(t, observer, 400, 4000)
				size := int64(v.rows * (4000 + 20))
				step := int64(64 << 10)
				if how.name != "upsert" && os.Getenv("POSTAGE_LONG") == "" {
					step = 256 << 10
				}
				version, errs := 0, 0
				for at := int64(0); at <= size+128<<10; at += step {
					conn := p.connect(t)
					p.left.Store(at)
					err := how.write(t.Context(), conn, v, v.rowsAt(version+1), pgbulk.Options{Strategy: s}, func() error { return nil })
					p.left.Store(-1)
					if err != nil {
						errs++
					}
					version = v.check(t, observer, conn, err, version, version+1)
					conn.Close(t.Context())
				}
				if want := int(size / step); errs < want {
					t.Errorf("%d cuts of %d were noticed", errs, want)
				}
			})
		}
	}
	t.Run("exec", func(t *testing.T) {
		p := newProxy(t)
		v := newVersioned(t, observer, 1, 1<<20)
		version := 0
		for at := int64(0); at <= 1<<20+128<<10; at += 64 << 10 {
			conn := p.connect(t)
			p.left.Store(at)
			_, err := pgbulk.Exec(t.Context(), conn, "update "+v.table.Name.Sanitize()+" set version = $1, pad = $2", version+1, v.pad)
			p.left.Store(-1)
			version = v.check(t, observer, conn, err, version, version+1)
			conn.Close(t.Context())
		}
	})
}

// TestRandomFaults has something go wrong at a random point, very often.
func TestRandomFaults(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 100
	}
	observer := connect(t)
	p := newProxy(t)
	v := newVersioned(t, observer, 300, 900)
	conn := p.connect(t)
	defer func() { conn.Close(context.Background()) }()
	version := 0
	counts := map[string]int{}
	var what string
	defer func() {
		if t.Failed() {
			t.Log("last fault: ", what)
		}
	}()
	for i := range n {
		if conn.IsClosed() {
			conn = p.connect(t)
		}
		o := pgbulk.Options{Strategy: strategies[rand.IntN(len(strategies))], ChunkBytes: []int{0, 5000, 50_000}[rand.IntN(3)]}
		ctx, cancel := context.WithCancel(t.Context())
		rows := v.rowsAt(version + 1)
		how := writings[rand.IntN(len(writings))]
		returned := func() error { return nil }
		row := rand.IntN(v.rows)
		delay := time.Duration(rand.IntN(12_000)) * time.Microsecond
		var kind string
		var background sync.WaitGroup
		switch rand.IntN(10) {
		case 0:
			kind = "none"
		case 1:
			kind = "cut"
			p.left.Store(rand.Int64N(320_000))
		case 2:
			kind = "terminate"
			pid := conn.PgConn().PID()
			background.Go(func() {
				time.Sleep(delay)
				observer.Exec(context.Background(), "select pg_terminate_backend($1)", pid)
			})
		case 3:
			kind = "cancel"
			background.Go(func() {
				time.Sleep(delay)
				cancel()
			})
		case 4:
			kind = "timeout"
			must(t, conn, fmt.Sprintf("set statement_timeout = %d", 1+rand.IntN(12)))
		case 5:
			kind = "source"
			rows = func(yield func([]any, error) bool) {
				for i := range row {
					if !yield([]any{i, version + 1, v.pad}, nil) {
						return
					}
				}
				yield(nil, errors.New("the source is dry"))
			}
		case 6:
			kind = "panic"
			rows = func(yield func([]any, error) bool) {
				for i := range v.rows {
					if i == row {
						panic("the source is mad")
					}
					if !yield([]any{i, version + 1, v.pad}, nil) {
						return
					}
				}
			}
		case 7:
			kind = "violation"
			rows = func(yield func([]any, error) bool) {
				for i := range v.rows {
					next := version + 1
					if i == row {
						next = -1
					}
					if !yield([]any{i, next, v.pad}, nil) {
						return
					}
				}
			}
		case 8, 9:
			how = writings[3+rand.IntN(2)]
			if kind = "receiver"; rand.IntN(2) == 0 {
				kind = "receiver's panic"
			}
			n := 0
			returned = func() error {
				if n++; n <= row {
					return nil
				}
				if kind == "receiver" {
					return errors.New("the receiver is full")
				}
				panic("the receiver is mad")
			}
		}
		err := func() (err error) {
			defer func() {
				if r := recover(); r != nil {
					if r != "the source is mad" && r != "the receiver is mad" {
						panic(r)
					}
					err = &pgbulk.Error{Err: fmt.Errorf("%v", r), Row: -1, Closed: conn.IsClosed()}
				}
			}()
			return how.write(ctx, conn, v, rows, o, returned)
		}()
		background.Wait()
		p.left.Store(-1)
		cancel()
		what = fmt.Sprintf("%d %s, %s, strategy %q, delay %v: %v", i, kind, how.name, o.Strategy, delay, err)
		if kind == "terminate" {
			gone(t, observer, conn.PgConn().PID())
			if !conn.IsClosed() { // the call was over before
				conn.Close(context.Background())
			}
		}
		if kind == "timeout" && !conn.IsClosed() {
			// This may itself run into the timeout, and PostgreSQL may lay one that comes at the last moment at the door of
			// the next statement.
			for range 10 {
				_, err1 := conn.Exec(context.Background(), "set statement_timeout = 0")
				_, err2 := conn.Exec(context.Background(), "select 1")
				if err1 == nil && err2 == nil {
					break
				}
			}
		}
		switch outcome := kind + " noticed"; {
		case err == nil && kind == "none":
			counts[kind]++
		case err == nil:
			counts[kind+" too late"]++
		default:
			counts[outcome]++
			if kind == "none" {
				t.Fatal(err)
			}
			if kind == "violation" || kind == "source" {
				var e *pgbulk.Error
				if !errors.As(err, &e) || row < e.Row || row > e.LastRow {
					t.Fatalf("%s %s in row %d: %v", o.Strategy, kind, row, err)
				}
			}
		}
		version = v.check(t, observer, conn, err, version, version+1)
	}
	t.Log(counts)
}

// TestCancelKeepsConnection cancels a call that waits for a lock: the server answers, and the connection stays.
func TestCancelKeepsConnection(t *testing.T) {
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
				_, err := pgbulk.Upsert(ctx, conn, v.table, v.at(1), pgbulk.Options{Strategy: s})
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

// cancelled makes a call whose context ends, on a connection that must be there afterwards. On a busy machine the
// server may not answer within CancelGrace: so there are three tries.
func cancelled(t *testing.T, what string, call func(context.Context, *pgx.Conn) error) (*pgx.Conn, error) {
	t.Helper()
	for range 3 {
		conn := connect(t)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		err := call(ctx, conn)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("%s: error %v", what, err)
		}
		if !conn.IsClosed() {
			return conn, err
		}
		t.Logf("%s: %v", what, err)
		// Its backend may wait for the lock still, and must not get it.
		other := connect(t)
		must(t, other, "select pg_terminate_backend($1)", conn.PgConn().PID())
		gone(t, other, conn.PgConn().PID())
	}
	t.Fatalf("%s: three connections were closed", what)
	return nil, nil
}

// TestServerHangs has a server that neither reads nor answers: the call must end in the end, and say that the connection is closed.
func TestServerHangs(t *testing.T) {
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
	_, err = pgbulk.Upsert(ctx, conn, v.table, v.at(1), pgbulk.Options{Strategy: pgbulk.Bind})
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

// TestChattyServer has the server send a notice for every row, far more than the sockets hold, while we write.
func TestChattyServer(t *testing.T) {
	conn := connect(t)
	must(t, conn, `create or replace function chat() returns trigger language plpgsql as
		$$ begin raise notice '%', repeat('x', 4000); perform pg_notify('chat', new.id::text); return new; end $$`)
	must(t, conn, "listen chat")
	for _, s := range strategies {
		v := newVersioned(t, conn, 5000, 1000)
		must(t, conn, "create trigger chat before insert on "+v.table.Name.Sanitize()+" for each row execute function chat()")
		if _, err := pgbulk.Upsert(t.Context(), conn, v.table, v.at(1), pgbulk.Options{Strategy: s}); err != nil {
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
			pgbulk.Upsert(context.Background(), conn, v.table, pgbulk.Values(seq(v.rows, func(i int) []any {
				if i == 900 {
					runtime.Goexit()
				}
				return []any{i, 1, v.pad}
			})), pgbulk.Options{Strategy: s})
		}()
		<-done
		v.check(t, observer, conn, &pgbulk.Error{Err: errors.New("goexit")}, 0, 1)
	}
}

// TestLimits refuses what is over 1 GB before it is sent. The large value is never touched, so that it takes no memory.
func TestLimits(t *testing.T) {
	conn := connect(t)
	table := pgbulk.Table{Name: newTable(t, conn, "id int primary key, a bytea"), Columns: []string{"id", "a"}, Key: []string{"id"}}
	large := make([]byte, 1<<30)
	for _, s := range strategies {
		_, err := pgbulk.Upsert(t.Context(), conn, table, pgbulk.Slice([][]any{{1, []byte("x")}, {2, large}}), pgbulk.Options{Strategy: s})
		var e *pgbulk.Error
		if !errors.Is(err, pgbulk.ErrTooLarge) || !errors.As(err, &e) || e.Row != 1 || e.Column != "a" {
			t.Errorf("%s: %v", name(s), err)
		}
		usable(t, conn)
	}
	_, err := pgbulk.Exec(t.Context(), conn, "select $1::int, $2::bytea", 1, large)
	var e *pgbulk.Error
	if !errors.Is(err, pgbulk.ErrTooLarge) || !errors.As(err, &e) || e.Column != "$2" {
		t.Error(err)
	}
	if _, err := pgbulk.Exec(t.Context(), conn, "select $1::bytea, $2::bytea", large[:1<<29], large[:1<<29]); !errors.Is(err, pgbulk.ErrTooLarge) {
		t.Error(err)
	}
	if n := get[int](t, conn, "select count(*) from "+table.Name.Sanitize()); n != 0 {
		t.Errorf("%d rows", n)
	}
	usable(t, conn)
}

// TestManyParameters has more parameters than a message can name.
func TestManyParameters(t *testing.T) {
	conn := connect(t)
	for _, s := range strategies {
		v := newVersioned(t, conn, 50_000, 1)
		result, err := pgbulk.Upsert(t.Context(), conn, v.table, v.at(1), pgbulk.Options{Strategy: s, ChunkBytes: 1 << 30})
		if err != nil || result.Affected != 50_000 || result.Rows != 50_000 {
			t.Errorf("%s: %+v, %v", name(s), result, err)
		}
		v.check(t, conn, conn, err, 0, 1)
	}
}

// TestChunkMemory lets a chunk be as large as can be: what it takes goes by the rows that there are.
func TestChunkMemory(t *testing.T) {
	conn := connect(t)
	table := pgbulk.Table{Name: newTable(t, conn, "id int primary key, a text"), Columns: []string{"id", "a"}, Key: []string{"id"}}
	for _, c := range []struct{ rows, size, most int }{
		{2000, 100, 16 << 20},
		{16_000, 1000, 400 << 20}, // 16 MB, moved to a larger place now and then
	} {
		pad := strings.Repeat("x", c.size)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := pgbulk.Upsert(t.Context(), conn, table, pgbulk.Values(seq(c.rows, func(i int) []any { return []any{i, pad} })), pgbulk.Options{ChunkBytes: 1 << 29})
		if err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		n := int(after.TotalAlloc - before.TotalAlloc)
		t.Logf("%d rows of %d bytes: %d bytes allocated", c.rows, c.size, n)
		if n > c.most {
			t.Errorf("%d rows of %d bytes: %d bytes allocated, want at most %d", c.rows, c.size, n, c.most)
		}
	}
}

// TestKeyTwiceInDistantRows has the same key in rows that the Bind strategy sends in different statements.
func TestKeyTwiceInDistantRows(t *testing.T) {
	conn := connect(t)
	for _, s := range strategies {
		for _, n := range []int{1000, 20_000} {
			v := newVersioned(t, conn, n, 900)
			last := n - 10
			rows := pgbulk.Values(seq(n, func(i int) []any {
				if i == last {
					return []any{7, 1, v.pad}
				}
				return []any{i, 1, v.pad}
			}))
			_, err := pgbulk.Upsert(t.Context(), conn, v.table, rows, pgbulk.Options{Strategy: s})
			var e *pgbulk.Error
			var pgErr *pgconn.PgError
			if !errors.As(err, &e) || !errors.As(err, &pgErr) || pgErr.Code != "21000" || e.FirstRow != 7 || e.Row != last {
				t.Errorf("%s: %v", name(s), err)
			}
			v.check(t, conn, conn, err, 0, 1)
		}
	}
}

// TestConcurrent has 16 goroutines write through a pool; with -race it looks for what they share.
func TestConcurrent(t *testing.T) {
	observer := connect(t)
	pool, err := pgxpool.New(t.Context(), dsn(t, pgtest.TCP)+" pool_max_conns=16")
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	table := pgbulk.Table{Name: newTable(t, observer, "id int primary key, version int, pad text"), Columns: []string{"id", "version", "pad"}, Key: []string{"id"}}
	const workers, rounds, rows = 16, 6, 200
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for r := range rounds {
				source := pgbulk.Values(seq(rows, func(i int) []any { return []any{w*rows + i, r, strings.Repeat("z", 10*i)} }))
				if _, err := pgbulk.Upsert(t.Context(), pool, table, source, pgbulk.Options{Strategy: strategies[(w+r)%len(strategies)]}); err != nil {
					t.Error(err)
				}
				if _, err := pgbulk.Exec(t.Context(), pool, "select $1::int, $2::text", r, strings.Repeat("q", 100_000)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n := get[int](t, observer, "select count(*) from "+table.Name.Sanitize()+" where version = $1", rounds-1); n != workers*rows {
		t.Errorf("%d rows of the last round, want %d", n, workers*rows)
	}
}

// inCI makes what is missing a failure, where a test is skipped elsewhere.
func inCI(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}
