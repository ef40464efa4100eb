package pgbulk_test

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"iter"
	"math/big"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"postage/pgbulk"
	"postage/pgbulk/pgtest"
)

var strategies = []pgbulk.Strategy{pgbulk.Auto, pgbulk.Bind, pgbulk.Copy, pgbulk.Unnest}

func name(s pgbulk.Strategy) string {
	if s == pgbulk.Auto {
		return "auto"
	}
	return string(s)
}

var pageTable = []string{"id", "colA", "colB", "colC", "colD"}

func TestPageUpsert(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	rows := pageData(100, 16384, 1)
	again := pageData(100, 16384, 2)
	for i := range again[:60] {
		again[i][0] = rows[i][0]
	}
	want := newTable(t, conn, pageColumns)
	for _, r := range [][][]any{rows, again} {
		sql, args := pageStatement(want, r)
		must(t, conn, sql, args...)
	}
	for _, s := range strategies {
		t.Run(name(s), func(t *testing.T) {
			table := pgbulk.Table{Name: newTable(t, conn, pageColumns), Columns: pageTable, Key: []string{"id"}}
			for _, r := range [][][]any{rows, again} {
				result, err := upsert(t.Context(), conn, table, pgbulk.Slice(r), settings{Strategy: s})
				if err != nil {
					t.Fatal(err)
				}
				if result.Rows != 100 || result.Affected != 100 {
					t.Errorf("result %+v", result)
				}
			}
			if got, want := digest(t, conn, table.Name), digest(t, conn, want); got != want {
				t.Errorf("table %s, want %s", got, want)
			}
			usable(t, conn)
		})
	}
	t.Run("exec", func(t *testing.T) {
		table := newTable(t, conn, pageColumns)
		for _, r := range [][][]any{rows, again} {
			sql, args := pageStatement(table, r)
			for range 2 {
				tag, err := pgbulk.Exec(t.Context(), conn, sql, args...)
				if err != nil {
					t.Fatal(err)
				}
				if tag.RowsAffected() != 100 {
					t.Errorf("tag %v", tag)
				}
			}
		}
		if got, want := digest(t, conn, table), digest(t, conn, want); got != want {
			t.Errorf("table %s, want %s", got, want)
		}
	})
}

// TestStructsByAddress has struct fields of all types that are handed on by address, into columns
// of their own type and of text, and compares with what the fields' values come to. Memory does not
// grow by the row.
func TestStructsByAddress(t *testing.T) {
	conn := connect(t)
	type row struct {
		ID int64
		A  int
		B  int16
		C  int32
		D  float32
		E  float64
		F  time.Time
		G  [16]byte
		H  pgtype.UUID
		I  pgtype.Numeric
		J  int
		K  float64
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_000, time.UTC)
	all := func(n int) iter.Seq[row] {
		return func(yield func(row) bool) {
			for i := range n {
				if !yield(row{int64(i), i * 1000, int16(i), int32(-i), float32(i) / 4, float64(i) / 3, at.Add(time.Duration(i) * time.Hour), [16]byte{byte(i)}, pgtype.UUID{Bytes: [16]byte{1: byte(i)}, Valid: i%2 == 0},
					pgtype.Numeric{Int: big.NewInt(int64(i)), Exp: -2, Valid: i%3 > 0}, i, float64(i)}) {
					return
				}
			}
		}
	}
	const columns = "(id int8 primary key, a int8, b int2, c int4, d float4, e float8, f timestamptz, g uuid, h uuid, i numeric, j jsonb, k numeric)"
	byHand := func(r row) []any { return []any{r.ID, r.A, r.B, r.C, r.D, r.E, r.F, r.G, r.H, r.I, r.J, r.K} }
	for _, s := range strategies {
		ours, theirs := newTable(t, conn, columns[1:len(columns)-1]), newTable(t, conn, columns[1:len(columns)-1])
		if _, err := upsert(t.Context(), conn, pgbulk.Table{Name: ours, Key: []string{"id"}}, pgbulk.Structs(all(300)), settings{Strategy: s}); err != nil {
			t.Fatal(err)
		}
		for r := range all(300) {
			if _, err := conn.Exec(t.Context(), "insert into "+theirs.Sanitize()+" values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)", byHand(r)...); err != nil {
				t.Fatal(err)
			}
		}
		same(t, conn, strings.Split("id a b c d e f g h i j k", " "), ours.Sanitize(), theirs.Sanitize())
	}
	table := pgbulk.Table{Name: newTable(t, conn, columns[1:len(columns)-1]), Columns: strings.Split("id a b c d e f g h k", " "), Key: []string{"id"}}
	const n = 5000
	var before, after runtime.MemStats
	for range 2 { // the first makes buffers
		must(t, conn, "truncate "+table.Name.Sanitize())
		rows := slices.Collect(all(n))
		runtime.ReadMemStats(&before)
		if _, err := insert(t.Context(), conn, table, pgbulk.Structs(slices.Values(rows)), settings{}); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
	}
	if got := after.Mallocs - before.Mallocs; got > n/2 {
		t.Errorf("%d allocations for %d rows", got, n)
	}
}

func TestTransports(t *testing.T) {
	conn := connect(t)
	table := pgbulk.Table{Name: newTable(t, conn, "id int primary key, a text"), Columns: []string{"id", "a"}, Key: []string{"id"}}
	pool, err := pgxpool.New(t.Context(), dsn(t, pgtest.TCP))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	held, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	id := 0
	for _, s := range strategies {
		for _, db := range []pgbulk.DB{conn, pool, held} {
			id++
			if _, err := upsert(t.Context(), db, table, pgbulk.Slice([][]any{{id, "x"}}), settings{Strategy: s}); err != nil {
				t.Fatalf("%T: %v", db, err)
			}
		}
	}
	if n := get[int](t, conn, "select count(*) from "+table.Name.Sanitize()); n != id {
		t.Errorf("%d rows, want %d", n, id)
	}
	if _, err := pgbulk.Exec(t.Context(), pool, "select $1::int", 1); err != nil {
		t.Error(err)
	}
}

func TestCallersTransaction(t *testing.T) {
	for _, s := range strategies {
		t.Run(name(s), func(t *testing.T) {
			conn := connect(t)
			table := pgbulk.Table{Name: newTable(t, conn, "id int primary key, a text check (a <> 'bad')"), Columns: []string{"id", "a"}, Key: []string{"id"}}
			count := func() int { return get[int](t, conn, "select count(*) from "+table.Name.Sanitize()) }
			rows := func(from, n int) pgbulk.Source {
				var r [][]any
				for i := range n {
					r = append(r, []any{from + i, "x"})
				}
				return pgbulk.Slice(r)
			}
			begin := func() pgx.Tx {
				tx, err := conn.Begin(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return tx
			}
			o := settings{Strategy: s}
			tx := begin()
			for i := range 3 { // several calls in one transaction
				if _, err := upsert(t.Context(), tx, table, rows(10*i, 10), o); err != nil {
					t.Fatal(err)
				}
			}
			tx.Rollback(t.Context())
			if n := count(); n != 0 {
				t.Errorf("%d rows after rollback", n)
			}
			tx = begin()
			if _, err := upsert(t.Context(), tx, table, rows(0, 10), o); err != nil {
				t.Fatal(err)
			}
			tx.Commit(t.Context())
			if n := count(); n != 10 {
				t.Errorf("%d rows after commit", n)
			}
			if _, err := upsert(t.Context(), tx, table, rows(0, 10), o); !errors.Is(err, pgx.ErrTxClosed) {
				t.Errorf("in a transaction that is over: %v", err)
			}

			// A failed call leaves the transaction aborted, and its savepoint to go back to.
			tx = begin()
			inner, err := tx.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var e *pgbulk.Error
			_, err = upsert(t.Context(), inner, table, pgbulk.Slice([][]any{{100, "x"}, {101, "x"}, {102, "bad"}, {103, "x"}}), o)
			if !errors.As(err, &e) || codeOf(err) != "23514" {
				t.Errorf("error %v", err)
			}
			if status := conn.PgConn().TxStatus(); status != 'E' {
				t.Errorf("transaction status %c, want E", status)
			}
			if _, err := upsert(t.Context(), inner, table, rows(100, 1), o); err == nil || !strings.Contains(err.Error(), "aborted") {
				t.Errorf("in an aborted transaction: %v", err)
			}
			inner.Rollback(t.Context())
			if _, err := upsert(t.Context(), tx, table, rows(10, 1), o); err != nil {
				t.Error(err)
			}
			if err := tx.Commit(t.Context()); err != nil {
				t.Error(err)
			}
			if n := count(); n != 11 {
				t.Errorf("%d rows", n)
			}
			usable(t, conn)
		})
	}
}

func (madValuer) Value() (driver.Value, error) { panic("the value is mad") }

// TestExecStaleStatement drops and alters what a kept statement was prepared for.
func TestExecStaleStatement(t *testing.T) {
	conn := connect(t)
	table := newTable(t, conn, "a int")
	sql := "insert into " + table.Sanitize() + " values ($1) returning *"
	run := func(v any) {
		t.Helper()
		if _, err := pgbulk.Exec(t.Context(), conn, sql, v); err != nil {
			t.Error(err)
		}
	}
	run(1)
	must(t, conn, "deallocate all")
	run(2)
	must(t, conn, "alter table "+table.Sanitize()+" add b text")
	run(3)
	must(t, conn, "alter table "+table.Sanitize()+" alter a type text")
	run("4")
	for i := range 100 { // more than are kept
		if _, err := pgbulk.Exec(t.Context(), conn, "select "+strings.Repeat(" ", i)+"$1::int", i); err != nil {
			t.Fatal(err)
		}
	}
	if n := get[int](t, conn, "select count(*) from pg_prepared_statements where name like 'pgbulk%'"); n > 40 {
		t.Errorf("%d statements kept", n)
	}
	if got := get[string](t, conn, "select string_agg(a, ' ' order by a) from "+table.Sanitize()); got != "1 2 3 4" {
		t.Errorf("table %s", got)
	}
}

// TestExecOtherType alters what a kept statement writes to, over another connection, so that it takes
// values that its parameters did not take before.
func TestExecOtherType(t *testing.T) {
	conn, other := connect(t), connect(t)
	for _, c := range []struct {
		to    string
		value any
	}{{"bigint", int64(5_000_000_000)}, {"text", "words"}} {
		table := newTable(t, conn, "n int")
		sql := "insert into " + table.Sanitize() + " values ($1)"
		if _, err := pgbulk.Exec(t.Context(), conn, sql, 1); err != nil {
			t.Fatal(err)
		}
		must(t, other, "alter table "+table.Sanitize()+" alter n type "+c.to)
		for range 2 {
			if _, err := pgbulk.Exec(t.Context(), conn, sql, c.value); err != nil {
				t.Errorf("to %s: %v", c.to, err)
			}
		}
		if got := get[int](t, conn, "select count(*) from "+table.Sanitize()+" where n = $1", c.value); got != 2 {
			t.Errorf("to %s: %d rows", c.to, got)
		}
	}
}

// TestExecClosesStatements has statements that become stale again and again: the server does not
// gather them.
func TestExecClosesStatements(t *testing.T) {
	conn := connect(t)
	must(t, conn, "create role insertless; grant usage on schema public to insertless")
	defer must(t, conn, "reset role; drop owned by insertless; drop role insertless")
	table := newTable(t, conn, "a int")
	for i := range 50 {
		sql := fmt.Sprintf("insert into %s values ($1 + %d)", table.Sanitize(), i%10)
		must(t, conn, "reset role")
		for range 2 {
			if _, err := pgbulk.Exec(t.Context(), conn, sql, 1); err != nil {
				t.Fatal(err)
			}
		}
		must(t, conn, "set role insertless")
		_, err := pgbulk.Exec(t.Context(), conn, sql, 1)
		if pgErr, ok := pgbulk.AsType[*pgconn.PgError](err); !ok || pgErr.Code != "42501" {
			t.Fatal(err)
		}
	}
	must(t, conn, "reset role")
	if n := get[int](t, conn, "select count(*) from pg_prepared_statements where name like 'pgbulk%'"); n > 11 {
		t.Errorf("%d statements for 10 texts", n)
	}
}

func seq(n int, row func(i int) []any) iter.Seq[[]any] {
	return func(yield func([]any) bool) {
		for i := range n {
			if !yield(row(i)) {
				return
			}
		}
	}
}

// TestConcurrent has 16 goroutines write through a pool; with -race it looks for what they share.
func TestConcurrent(t *testing.T) {
	t.Parallel()
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
				if _, err := upsert(t.Context(), pool, table, source, settings{Strategy: strategies[(w+r)%len(strategies)]}); err != nil {
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
