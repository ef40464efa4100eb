package pgbulk_test

import (
	"context"
	"fmt"
	"math/big"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"postage/pgbulk"
)

// turns counts how often a connection is read after it was written to.
type turns struct {
	net.Conn
	wrote atomic.Bool
	n     atomic.Int64
}

func (c *turns) Write(p []byte) (int, error) {
	c.wrote.Store(true)
	return c.Conn.Write(p)
}

func (c *turns) Read(p []byte) (int, error) {
	if c.wrote.Swap(false) {
		c.n.Add(1)
	}
	return c.Conn.Read(p)
}

// counted is a connection whose round trips are counted.
func counted(t *testing.T) (*pgx.Conn, *turns) {
	config := connect(t).Config()
	trips := new(turns)
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		var err error
		trips.Conn, err = dial(ctx, network, addr)
		return trips, err
	}
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn, trips
}

// TestSmallCalls counts the round trips of calls whose table the connection knows: one each. What
// they write is what a call that asks the catalog writes.
func TestSmallCalls(t *testing.T) {
	conn, trips := counted(t)
	table := pgbulk.Table{Name: newTable(t, conn, "id int primary key, n int8, at timestamptz, a text"), Columns: []string{"id", "n", "at", "a"}, Key: []string{"id"}}
	if _, err := insert(t.Context(), conn, table, pgbulk.Slice([][]any{{0, 0, nil, ""}}), settings{}); err != nil {
		t.Fatal(err) // after this the connection is known to go to the server itself
	}
	for _, s := range []pgbulk.Strategy{pgbulk.Auto, pgbulk.Bind, pgbulk.Unnest} {
		for _, n := range []int{1, 10, 200} {
			for call := range 3 {
				for _, op := range []operation{opInsert, opUpdate, opUpsert} {
					if op == opInsert {
						must(t, conn, "truncate "+table.Name.Sanitize())
					}
					rows := pgbulk.Values(seq(n, func(i int) []any { return []any{i, int64(i * call), time.Unix(int64(i), 0), string(op)} }))
					before := trips.n.Load()
					r, err := op.call(t.Context(), conn, table, rows, settings{Strategy: s})
					if err != nil || r.Rows != n || r.Affected != int64(n) {
						t.Fatalf("%s %s of %d rows: %+v, %v", name(s), op, n, r, err)
					}
					if took := trips.n.Load() - before; call > 0 && took != 1 {
						t.Errorf("%s %s of %d rows, call %d: %d round trips", name(s), op, n, call, took)
					}
					sum := get[string](t, conn, "select concat(count(*), ' ', count(*) filter (where n = id * $1 and at = to_timestamp(id) and a = $2)) from "+table.Name.Sanitize(), call, string(op))
					if sum != fmt.Sprint(n, " ", n) {
						t.Errorf("%s %s of %d rows: %s", name(s), op, n, sum)
					}
				}
			}
		}
	}
}

// TestKnownTableAltered alters what a connection knows of a table, elsewhere. A call fails before it
// has written a row, or writes what was given, and the next one is right.
func TestKnownTableAltered(t *testing.T) {
	at := time.Date(2024, 2, 3, 4, 5, 6, 0, time.UTC)
	for _, c := range []struct {
		what, column string
		first        any
		alter        string
		then         any
		want         string
		fails        bool
	}{
		{"wider", "int4", 1, "alter v type int8", 5_000_000_000, "5000000000", true},
		{"text", "int4", 1, "alter v type text", "x", "x", true},
		{"moment", "date", at, "alter v type timestamp", at, "2024-02-03 04:05:06", true},
		{"exact", "float8", 1.5, "alter v type numeric", pgtype.Numeric{Int: big.NewInt(1234567890123456789), Valid: true}, "1234567890123456789", true},
		{"another column", "int4", 1, "add w int default 7", 2, "2", false},
		{"dropped and added", "int4", 1, "drop v, add v int4", 2, "2", false},
		{"longer", "varchar(3)", "abc", "alter v type varchar(9)", "abcdefgh", "abcdefgh", false},
		{"trigger", "int4", 1, "enable row level security", 2, "2", false},
	} {
		for _, s := range []pgbulk.Strategy{pgbulk.Auto, pgbulk.Bind, pgbulk.Unnest} {
			for _, n := range []int{1, 3} {
				t.Run(fmt.Sprint(c.what, "/", name(s), "/", n), func(t *testing.T) {
					conn, other := connect(t), connect(t)
					table := pgbulk.Table{Name: newTable(t, conn, "id int, v "+c.column), Columns: []string{"id", "v"}}
					put := func(from int, v any) error {
						_, err := insert(t.Context(), conn, table, pgbulk.Values(seq(n, func(i int) []any { return []any{from + i, v} })), settings{Strategy: s})
						return err
					}
					for i := range 3 {
						if err := put(10*i, c.first); err != nil {
							t.Fatal(err)
						}
					}
					must(t, other, "alter table "+table.Name.Sanitize()+" "+c.alter)
					err := put(100, c.then)
					if (err != nil) != c.fails || err != nil && !strings.Contains(err.Error(), "altered") {
						t.Errorf("the first call: %v", err)
					}
					if rows := get[int](t, conn, "select count(*) from "+table.Name.Sanitize()+" where id >= 100"); err != nil && rows != 0 {
						t.Errorf("%d rows of a call that failed", rows)
					}
					if err := put(200, c.then); err != nil {
						t.Errorf("the next call: %v", err)
					}
					if got := get[string](t, conn, "select string_agg(v::text, ' ') from "+table.Name.Sanitize()+" where id >= 200"); got != strings.TrimSpace(strings.Repeat(c.want+" ", n)) {
						t.Errorf("stored %s, want %s", got, c.want)
					}
				})
			}
		}
	}
}

// TestForgottenOnce: a server that has forgotten all statements, those of several tables and of Exec,
// has done so once, and has them again. One that forgets them again and again is asked each time.
func TestForgottenOnce(t *testing.T) {
	conn, trips := counted(t)
	var tables []pgbulk.Table
	for range 3 {
		tables = append(tables, pgbulk.Table{Name: newTable(t, conn, "id int"), Columns: []string{"id"}})
	}
	calls := func() (took int64) {
		before := trips.n.Load()
		for _, table := range tables {
			for _, rows := range [][][]any{{{1}}, {{2}, {3}}} {
				if _, err := insert(t.Context(), conn, table, pgbulk.Slice(rows), settings{}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := pgbulk.Exec(t.Context(), conn, "delete from "+table.Name.Sanitize()+" where id < $1", 0); err != nil {
				t.Fatal(err)
			}
		}
		return trips.n.Load() - before
	}
	forget := func() {
		must(t, conn, "discard all", pgx.QueryExecModeSimpleProtocol)
		calls()
		calls()
	}
	calls()
	calls()
	forget()
	if took := calls(); took != 9 {
		t.Errorf("%d round trips for 9 calls", took)
	}
	if n := get[int](t, conn, "select count(*) from pg_prepared_statements where name like 'pgbulk%'"); n != 12 {
		t.Errorf("%d statements, want 12: a guard and two of each table, and one of Exec", n)
	}
	forget()
	forget()
	if n := get[int](t, conn, "select count(*) from "+tables[2].Name.Sanitize()); n != 27 {
		t.Errorf("%d rows of 9 calls by 3, want 27", n)
	}
}

// TestKnownTableOutgrown has a call that outgrows one statement: it asks for all that COPY depends on.
func TestKnownTableOutgrown(t *testing.T) {
	conn := connect(t)
	table := pgbulk.Table{Name: newTable(t, conn, "id int, v text"), Columns: []string{"id", "v"}}
	put := func(n int) pgbulk.Result {
		r, err := insert(t.Context(), conn, table, pgbulk.Values(seq(n, func(i int) []any { return []any{i, "x"} })), settings{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for range 3 {
		put(5)
	}
	must(t, conn, "create rule r as on insert to "+table.Name.Sanitize()+" where new.id % 2 = 0 do instead nothing")
	if r := put(20_000); r.Strategy == pgbulk.Copy {
		t.Errorf("%+v goes around the rule", r)
	}
	if got := get[int](t, conn, "select count(*) from "+table.Name.Sanitize()); got != 10_015 {
		t.Errorf("%d rows, want half of 20,000 beside 15", got)
	}
	must(t, conn, "set search_path = nowhere")
	if _, err := insert(t.Context(), conn, table, pgbulk.Slice([][]any{{1, "x"}}), settings{}); err == nil {
		t.Error("a table that is not on the search path was found")
	}
}
