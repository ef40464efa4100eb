package pgbulk_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"postage/pgbulk/pgtest"
)

// server is one scratch cluster for all tests of the package, nil if there is no PostgreSQL.
var (
	server *pgtest.Server
	noneOf error // why there is none
)

func TestMain(m *testing.M) {
	if os.Getenv("POSTAGE_SINK") != "" || os.Getenv("POSTAGE_FLAT") != "" {
		os.Exit(m.Run()) // a child process, which has no use for a server of its own
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	server, noneOf = pgtest.Start(ctx, pgtest.Options{Settings: map[string]string{"shared_buffers": "256MB", "max_wal_size": "4GB", "jit": "off"}})
	cancel()
	if noneOf != nil && (!errors.Is(noneOf, pgtest.ErrNone) || os.Getenv("CI") == "true") {
		fmt.Fprintln(os.Stderr, noneOf)
		os.Exit(1)
	}
	flag.Parse()
	if noneOf != nil { // examples cannot skip themselves
		flag.Set("test.skip", "^Example")
	}
	code := m.Run()
	if server != nil {
		if err := server.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// dsn skips a test if there is no PostgreSQL.
func dsn(t testing.TB, transport pgtest.Transport) string {
	t.Helper()
	if server == nil {
		t.Skip(noneOf)
	}
	return server.DSN(transport)
}

func connect(t testing.TB) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn(t, pgtest.Unix))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func must(t testing.TB, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(context.Background(), sql, args...); err != nil {
		t.Fatalf("%.200s: %v", sql, err)
	}
}

func get[T any](t testing.TB, conn *pgx.Conn, sql string, args ...any) T {
	t.Helper()
	var v T
	if err := conn.QueryRow(context.Background(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%.200s: %v", sql, err)
	}
	return v
}

// newTable makes a table with a name of its own and the given columns.
func newTable(t testing.TB, conn *pgx.Conn, columns string) pgx.Identifier {
	t.Helper()
	name := pgx.Identifier{fmt.Sprintf("t%d", rand.Uint64())}
	must(t, conn, "create table "+name.Sanitize()+" ("+columns+")")
	t.Cleanup(func() { drop(name) })
	return name
}

// dropping is the connection that drops the tables of all tests, whose own may be gone.
var dropping struct {
	sync.Mutex
	conn *pgx.Conn
}

func drop(table pgx.Identifier) {
	dropping.Lock()
	defer dropping.Unlock()
	if dropping.conn == nil || dropping.conn.IsClosed() {
		conn, err := pgx.Connect(context.Background(), server.DSN(pgtest.Unix))
		if err != nil {
			return
		}
		dropping.conn = conn
	}
	dropping.conn.Exec(context.Background(), "set client_min_messages = warning; drop table if exists "+table.Sanitize()+" cascade")
}

// digest tells tables with different contents apart.
func digest(t testing.TB, conn *pgx.Conn, table pgx.Identifier) string {
	t.Helper()
	return get[string](t, conn, "select count(*)::text || ' ' || coalesce(md5(string_agg(md5(r::text), '' order by md5(r::text))), '') from "+table.Sanitize()+" r")
}

// usable checks that a connection is in step: it must answer a query of its own with that query's
// answer.
func usable(t testing.TB, conn *pgx.Conn) {
	t.Helper()
	want := rand.Int64()
	if got := get[int64](t, conn, "select $1::int8", want); got != want {
		t.Fatalf("the connection is out of step: asked for %d, got %d", want, got)
	}
}

// The page's workload: 1000 rows of four random decimal integers as text, and 16 KB of JSON.
const (
	pageColumns = `id varchar primary key, "colA" varchar, "colB" varchar, "colC" varchar, "colD" jsonb`
	pageRows    = 1000
)

func pageData(n, size int, seed uint64) [][]any {
	r := rand.New(rand.NewPCG(seed, 1))
	letters := make([]byte, size)
	rows := make([][]any, n)
	for i := range rows {
		for j := range letters {
			letters[j] = byte('a' + r.IntN(26))
		}
		number := func() string { return fmt.Sprint(r.Int64()) }
		rows[i] = []any{number(), number(), number(), number(), `{ "foo": "` + string(letters) + `" }`}
	}
	return rows
}

// pageStatement is the page's one statement for n rows, and its arguments.
func pageStatement(table pgx.Identifier, rows [][]any) (sql string, args []any) {
	var b strings.Builder
	b.WriteString("insert into " + table.Sanitize() + ` (id, "colA", "colB", "colC", "colD") values `)
	for i, row := range rows {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "($%d, $%d, $%d, $%d, $%d)", 5*i+1, 5*i+2, 5*i+3, 5*i+4, 5*i+5)
		args = append(args, row...)
	}
	b.WriteString(` on conflict (id) do update set "colA" = excluded."colA", "colB" = excluded."colB", "colC" = excluded."colC", "colD" = excluded."colD"`)
	return b.String(), args
}

func contextWithTimeout(t testing.TB, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}

// inCI fails a test in CI that would be skipped elsewhere.
func inCI(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// short is the first number, or with POSTAGE_LONG the second.
func short(usual, long int) int {
	if longRun() {
		return long
	}
	return usual
}

// longRun reports whether the tests are to take minutes, as in CI.
func longRun() bool { return os.Getenv("POSTAGE_LONG") != "" }
