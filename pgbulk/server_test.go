package pgbulk_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"postage/pgbulk"
	"postage/pgbulk/pgtest"
)

// TestCompression has the server say how it stored the values.
func TestCompression(t *testing.T) {
	conn := connect(t)
	for _, s := range strategies {
		for _, inTx := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/in transaction %v", name(s), inTx), func(t *testing.T) {
				table := newTable(t, conn, `id int primary key, free text, named text compression pglz`)
				to := pgbulk.Table{Name: table, Columns: []string{"id", "free", "named"}, Key: []string{"id"}}
				long := strings.Repeat("compresses ", 1000)
				var db pgbulk.DB = conn
				if inTx {
					tx, err := conn.Begin(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					defer tx.Rollback(context.Background())
					must(t, conn, "set local default_toast_compression = pglz")
					db = tx
				}
				o := pgbulk.Options{Strategy: s, Compression: compressed}
				r, err := pgbulk.Upsert(t.Context(), db, to, pgbulk.Slice([][]any{{1, long, long}, {2, long, long}}), o)
				if err != nil || r.Affected != 2 {
					t.Fatal(r, err)
				}
				methods := get[string](t, conn, "select string_agg(distinct pg_column_compression(free) || ' ' || pg_column_compression(named), ', ') from "+table.Sanitize())
				if methods != string(compressed)+" pglz" {
					t.Errorf("stored with %s", methods)
				}
				if now := get[string](t, conn, "show default_toast_compression"); now != "pglz" {
					t.Errorf("afterwards the default is %s", now)
				}
				// An error keeps its row, and leaves no transaction behind.
				_, err = pgbulk.Insert(t.Context(), db, to, pgbulk.Slice([][]any{{3, "x", "x"}, {1, "x", "x"}}), o)
				if e, ok := errors.AsType[*pgbulk.Error](err); !ok || e.Row != 1 || e.Closed || e.Uncertain {
					t.Errorf("error %v", err)
				}
				want := byte('I')
				if inTx {
					want = 'E'
				}
				if status := conn.PgConn().TxStatus(); status != want {
					t.Errorf("status %c, want %c", status, want)
				}
			})
		}
	}
}

// A source that panics leaves no transaction behind, nor does a context that ends.
func TestCompressionUndone(t *testing.T) {
	conn := connect(t)
	v := newTable(t, conn, "id int primary key")
	to := pgbulk.Table{Name: v, Columns: []string{"id"}, Key: []string{"id"}}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		pgbulk.Upsert(t.Context(), conn, to, pgbulk.Values(func(yield func([]any) bool) {
			yield([]any{1})
			panic("source")
		}), pgbulk.Options{Compression: compressed, ChunkRows: 1})
	}()
	usable(t, conn)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := pgbulk.Upsert(ctx, conn, to, pgbulk.Values(func(yield func([]any) bool) {
		yield([]any{1})
		cancel()
		yield([]any{2})
	}), pgbulk.Options{Compression: compressed})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	usable(t, conn)
	if status, n := conn.PgConn().TxStatus(), get[int](t, conn, "select count(*) from "+v.Sanitize()); status != 'I' || n != 0 {
		t.Errorf("status %c, %d rows", status, n)
	}
	if _, err := pgbulk.Upsert(t.Context(), conn, to, pgbulk.Slice(nil), pgbulk.Options{Compression: "zstd"}); err == nil || !strings.Contains(err.Error(), "unknown compression") {
		t.Errorf("zstd: %v", err)
	}
}

// A call whose transaction cannot be rolled back closes the connection, and says so.
func TestCompressionNotRolledBack(t *testing.T) {
	observer := connect(t)
	table := newTable(t, observer, "id int primary key")
	to := pgbulk.Table{Name: table, Columns: []string{"id"}, Key: []string{"id"}}
	conn := connect(t)
	dry := errors.New("dry")
	_, err := pgbulk.Upsert(t.Context(), conn, to, pgbulk.Fallible(func(yield func([]any, error) bool) {
		must(t, observer, "select pg_terminate_backend($1)", conn.PgConn().PID())
		gone(t, observer, conn.PgConn().PID())
		yield(nil, dry)
	}), pgbulk.Options{Compression: compressed})
	if e, ok := errors.AsType[*pgbulk.Error](err); !ok || !errors.Is(err, dry) || !conn.IsClosed() || !e.Closed {
		t.Errorf("connection closed: %v, error %v", conn.IsClosed(), err)
	}
}

// TestSkipUnchanged looks at which rows are new versions: their xmin is the call's.
func TestSkipUnchanged(t *testing.T) {
	conn := connect(t)
	for _, s := range strategies {
		t.Run(name(s), func(t *testing.T) {
			table := newTable(t, conn, "id int primary key, n numeric, j json, p point, s text")
			to := pgbulk.Table{Name: table, Columns: []string{"id", "n", "j", "p", "s"}, Key: []string{"id"}}
			must(t, conn, "insert into "+table.Sanitize()+` select i, 1.0, '{"a": 1}', '(1,2)', null from generate_series(1, 6) as i`)
			before := get[string](t, conn, "select string_agg(xmin::text, ' ' order by id) from "+table.Sanitize())
			rows := [][]any{
				{1, "1.0", `{"a": 1}`, "(1,2)", nil},  // as it is
				{2, "1.00", `{"a": 1}`, "(1,2)", nil}, // equal, and another value
				{3, "1.0", `{"a":1}`, "(1,2)", nil},
				{4, "1.0", `{"a": 1}`, "(1,3)", nil},
				{5, "1.0", `{"a": 1}`, "(1,2)", ""},
				{6, "1.0", `{"a": 1}`, "(1,2)", nil},
				{7, "1.0", `{"a": 1}`, "(1,2)", nil}, // new
			}
			o := pgbulk.Options{Strategy: s, SkipUnchanged: true, Where: "t.id < 5"}
			r, err := pgbulk.Upsert(t.Context(), conn, to, pgbulk.Slice(rows), o)
			if err != nil || r.Affected != 4 {
				t.Fatal(r, err)
			}
			after := get[string](t, conn, "select string_agg(xmin::text, ' ' order by id) from "+table.Sanitize())
			for i, x := range strings.Fields(before) {
				if written := strings.Fields(after)[i] != x; written != (i >= 1 && i <= 3) {
					t.Errorf("row %d: written %v", i+1, written)
				}
			}
			if n := get[string](t, conn, "select n::text from "+table.Sanitize()+" where id = 2"); n != "1.00" {
				t.Errorf("n is %s", n)
			}
		})
	}
	to := pgbulk.Table{Name: pgx.Identifier{"x"}, Columns: []string{"id"}, Key: []string{"id"}}
	for _, o := range []pgbulk.Options{
		{SkipUnchanged: true, Conflict: pgbulk.DoNothing},
		{SkipUnchanged: true, SetTo: map[string]pgbulk.SQL{"n": "1"}},
	} {
		if _, err := pgbulk.Upsert(t.Context(), conn, to, pgbulk.Slice(nil), o); err == nil || !strings.Contains(err.Error(), "SkipUnchanged") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func newPool(t *testing.T, most int32) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(dsn(t, pgtest.Unix))
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = most
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// TestSharded writes rows by one connection and by three, and compares the tables. Structs are
// yielded by a source that uses the same memory again and again.
func TestSharded(t *testing.T) {
	t.Parallel()
	conn, pool := connect(t), newPool(t, 3)
	type record struct {
		ID   int
		Name string
		Raw  []byte
	}
	const n = 5000
	records := func(version int) iter.Seq[record] {
		return func(yield func(record) bool) {
			raw := make([]byte, 60)
			for i := range n {
				copy(raw, fmt.Sprintf("%060d", i*version))
				if !yield(record{i * 7 % n, fmt.Sprint("name ", i, version), raw}) {
					return
				}
			}
		}
	}
	for _, s := range strategies {
		t.Run(name(s), func(t *testing.T) {
			one, many := newTable(t, conn, "id int primary key, name text, raw bytea"), newTable(t, conn, "id int primary key, name text, raw bytea")
			for version := 1; version <= 2; version++ {
				o := pgbulk.Options{Strategy: s, ChunkBytes: 10_000}
				if _, err := pgbulk.Upsert(t.Context(), conn, pgbulk.Table{Name: one, Key: []string{"id"}}, pgbulk.Structs(records(version)), o); err != nil {
					t.Fatal(err)
				}
				shards, err := pgbulk.UpsertSharded(t.Context(), pool, 3, pgbulk.Table{Name: many, Key: []string{"id"}}, pgbulk.Structs(records(version)), o)
				if err != nil || len(shards) != 3 {
					t.Fatal(shards, err)
				}
				rows, affected := 0, int64(0)
				for _, shard := range shards {
					rows, affected = rows+shard.Rows, affected+shard.Affected
					if shard.Rows < n/5 {
						t.Errorf("a shard of %d rows", shard.Rows)
					}
				}
				if rows != n || affected != n {
					t.Errorf("%d rows, %d affected", rows, affected)
				}
				if a, b := digest(t, conn, one), digest(t, conn, many); a != b {
					t.Errorf("one connection %s, three %s", a, b)
				}
			}
		})
	}
	if acquired := pool.Stat().AcquiredConns(); acquired != 0 {
		t.Errorf("%d connections were not given back", acquired)
	}
}

// TestShardedErrors has each kind of failure name its row as the call counts it, and say what is
// in.
func TestShardedErrors(t *testing.T) {
	t.Parallel()
	conn, pool := connect(t), newPool(t, 4)
	const n = 3000
	good := func() [][]any {
		rows := make([][]any, n)
		for i := range rows {
			rows[i] = []any{i, strings.Repeat("x", 50)}
		}
		return rows
	}
	for _, s := range strategies {
		for what, spoil := range map[string]func(rows [][]any){
			"a value":     func(rows [][]any) { rows[n-2][0] = "no number" },
			"a check":     func(rows [][]any) { rows[n-2][1] = "refused" },
			"a key twice": func(rows [][]any) { rows[n-2][0] = int64(17) }, // where the other one is an int
			"no value":    func(rows [][]any) { rows[n-2] = rows[n-2][:1] },
		} {
			t.Run(name(s)+"/"+what, func(t *testing.T) {
				table := newTable(t, conn, "id int8 primary key, name text check (name <> 'refused')")
				rows := good()
				spoil(rows)
				to := pgbulk.Table{Name: table, Columns: []string{"id", "name"}, Key: []string{"id"}}
				shards, err := pgbulk.UpsertSharded(t.Context(), pool, 4, to, pgbulk.Slice(rows), pgbulk.Options{Strategy: s, ChunkRows: 100})
				e, ok := errors.AsType[*pgbulk.Error](err)
				if !ok || e.Row < 0 || e.Row > n-2 || e.LastRow < n-2 {
					t.Fatalf("error %v", err)
				}
				if what == "a key twice" && s == pgbulk.Bind && e.FirstRow != 17 {
					t.Errorf("first row %d", e.FirstRow)
				}
				in := 0
				for _, shard := range shards {
					if shard.Err == nil {
						in += int(shard.Affected)
					}
				}
				if got := get[int](t, conn, "select count(*) from "+table.Sanitize()); got != in || got > n*4/5 {
					t.Errorf("%d rows are in, the shards say %d", got, in)
				}
			})
		}
	}
	t.Run("source", func(t *testing.T) {
		table := newTable(t, conn, "id int8 primary key, name text")
		to := pgbulk.Table{Name: table, Columns: []string{"id", "name"}, Key: []string{"id"}}
		broken := errors.New("broken")
		_, err := pgbulk.UpsertSharded(t.Context(), pool, 2, to, pgbulk.Fallible(func(yield func([]any, error) bool) {
			for _, row := range good() {
				if !yield(row, nil) {
					return
				}
			}
			yield(nil, broken)
		}), pgbulk.Options{})
		if e, ok := errors.AsType[*pgbulk.Error](err); !ok || !errors.Is(err, broken) || e.Row != n {
			t.Errorf("error %v", err)
		}
		func() {
			defer func() { recover() }()
			pgbulk.UpsertSharded(t.Context(), pool, 2, to, pgbulk.Values(func(yield func([]any) bool) {
				for _, row := range good() {
					yield(row)
				}
				panic("source")
			}), pgbulk.Options{Strategy: pgbulk.Copy})
			t.Error("no panic")
		}()
		ctx, cancel := context.WithCancel(t.Context())
		_, err = pgbulk.UpsertSharded(ctx, pool, 2, to, pgbulk.Values(func(yield func([]any) bool) {
			for i, row := range good() {
				if i == n/2 {
					cancel()
				}
				if !yield(row) {
					return
				}
			}
		}), pgbulk.Options{})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		if got := get[int](t, conn, "select count(*) from "+table.Sanitize()); got != 0 {
			t.Errorf("%d rows are in", got)
		}
	})
	if acquired := pool.Stat().AcquiredConns(); acquired != 0 {
		t.Errorf("%d connections were not given back", acquired)
	}
}

// A failure at the very end, when shards commit by themselves, leaves the others' rows in, and the
// shards say so.
func TestShardedInPart(t *testing.T) {
	conn, pool := connect(t), newPool(t, 2)
	table := newTable(t, conn, "id int primary key, other int")
	must(t, conn, "insert into "+table.Sanitize()+" values (-1, -1)")
	must(t, conn, "alter table "+table.Sanitize()+" add foreign key (other) references "+table.Sanitize()+" deferrable initially deferred")
	var rows [][]any
	for i := range 1000 {
		rows = append(rows, []any{i, -1})
	}
	rows[500][1] = -7
	to := pgbulk.Table{Name: table, Columns: []string{"id", "other"}, Key: []string{"id"}}
	shards, err := pgbulk.UpsertSharded(t.Context(), pool, 2, to, pgbulk.Slice(rows), pgbulk.Options{})
	if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != "23503" {
		t.Fatalf("error %v", err)
	}
	failed := slices.IndexFunc(shards, func(s pgbulk.Shard) bool { return s.Err != nil })
	if other := shards[1-failed]; other.Err != nil || other.Rows == 0 {
		t.Fatalf("shards %+v", shards)
	}
	if got := get[int](t, conn, "select count(*) from "+table.Sanitize()+" where id >= 0"); got != shards[1-failed].Rows {
		t.Errorf("%d rows are in, want %d", got, shards[1-failed].Rows)
	}
}

// Calls at the same time that need all connections of a pool between them take turns.
func TestShardedCallsAtOnce(t *testing.T) {
	conn, pool := connect(t), newPool(t, 4)
	table := newTable(t, conn, "id int primary key")
	to := pgbulk.Table{Name: table, Columns: []string{"id"}, Key: []string{"id"}}
	ctx, cancel := contextWithTimeout(t, 60e9)
	defer cancel()
	errs := make(chan error)
	for c := range 6 {
		go func() {
			var err error
			for i := range 20 {
				_, e := pgbulk.InsertSharded(ctx, pool, 3, to, pgbulk.Slice([][]any{{(c*20 + i) * 2}, {(c*20+i)*2 + 1}}), pgbulk.Options{})
				err = errors.Join(err, e)
			}
			errs <- err
		}()
	}
	for range 6 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if got := get[int](t, conn, "select count(*) from "+table.Sanitize()); got != 240 {
		t.Errorf("%d rows", got)
	}
	for _, n := range []int{0, 5} {
		if _, err := pgbulk.UpsertSharded(t.Context(), pool, n, to, pgbulk.Slice(nil), pgbulk.Options{}); err == nil || !strings.Contains(err.Error(), "want 1 to 4") {
			t.Errorf("%d shards: %v", n, err)
		}
	}
}

// A server without the method, or too old for any, is recognised by its settings, and nothing is
// written.
func TestCompressionNotThere(t *testing.T) {
	conn := connect(t)
	table := newTable(t, conn, "id int primary key")
	to := pgbulk.Table{Name: table, Columns: []string{"id"}, Key: []string{"id"}}
	must(t, conn, "create schema without")
	defer must(t, conn, "drop schema without cascade")
	for condition, want := range map[string]string{
		"name <> 'default_toast_compression'":                                    "needs PostgreSQL 14",
		"name = 'default_toast_compression' and enumvals <> array['pglz','lz4']": "built without lz4",
	} {
		columns := "name, setting, array_remove(enumvals, 'lz4') as enumvals"
		must(t, conn, "create or replace view without.pg_settings as select * from (select "+columns+" from pg_catalog.pg_settings) as s where "+condition)
		must(t, conn, "set search_path = without, public, pg_catalog")
		_, err := pgbulk.Upsert(t.Context(), conn, to, pgbulk.Slice([][]any{{1}}), pgbulk.Options{Compression: pgbulk.LZ4})
		must(t, conn, "reset search_path")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		if status, n := conn.PgConn().TxStatus(), get[int](t, conn, "select count(*) from "+table.Sanitize()); status != 'I' || n != 0 {
			t.Errorf("status %c, %d rows", status, n)
		}
	}
}
