package pgbulk_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"postage/pgbulk"
	"postage/pgbulk/pgtest"
)

func TestWriter(t *testing.T) {
	observer := connect(t)
	pool, err := pgxpool.New(t.Context(), dsn(t, pgtest.Unix))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	for _, s := range strategies {
		for _, op := range []operation{opInsert, opUpsert} {
			t.Run(fmt.Sprint(op, "/", name(s)), func(t *testing.T) {
				table := pgbulk.Table{Name: newTable(t, observer, "id int primary key, a text check (a <> 'bad'), b bytea"), Columns: []string{"id", "a", "b"}, Key: []string{"id"}}
				count := func() int { return get[int](t, observer, "select count(*) from "+table.Name.Sanitize()) }
				w := newWriter(t.Context(), pool, op, table, settings{Strategy: s, ChunkRows: 3, Every: 10})
				defer w.Close()
				if err := w.Flush(); err != nil {
					t.Fatal(err)
				}
				b := []byte("0")
				for i := range 25 {
					b[0] = byte('0' + i) // the same slice for all rows
					if err := w.Write([]any{i, fmt.Sprint("row", i), b}); err != nil {
						t.Fatal(err)
					}
					if n := count(); n != (i+1)/10*10 || w.committed.Rows != n {
						t.Fatalf("after %d rows %d are in, %+v reported", i+1, n, w.committed)
					}
				}
				if err := w.Flush(); err != nil {
					t.Fatal(err)
				}
				if r := w.committed; count() != 25 || r.Rows != 25 || r.Affected != 25 {
					t.Fatalf("%d rows are in, %+v reported", count(), r)
				}
				if bad := get[int](t, observer, "select count(*) from "+table.Name.Sanitize()+" where a <> 'row' || id or b <> convert_to(chr(48 + id), 'UTF8')"); bad != 0 {
					t.Errorf("%d rows are wrong", bad)
				}
				// A row is refused: what was committed stays, and the error has the row's number
				// since then.
				var failed error
				for i := 25; i < 60 && failed == nil; i++ {
					a := "x"
					if i == 38 {
						a = "bad"
					}
					failed = w.Write([]any{i, a, nil})
				}
				if failed == nil {
					failed = w.Flush()
				}
				e, ok := pgbulk.AsType[*pgbulk.Error](failed)
				if !ok || e.Row > 3 || e.LastRow < 3 {
					t.Errorf("error %v", failed)
				}
				if err := w.Write(nil); err != failed {
					t.Errorf("after an error: %v", err)
				}
				if err := w.Flush(); err != failed {
					t.Errorf("after an error: %v", err)
				}
				if r := w.committed; count() != 35 || r.Rows != 35 {
					t.Errorf("%d rows are in, %+v reported", count(), r)
				}
				w.Close()
				w.Close()
			})
		}
	}
	if pool.Stat().AcquiredConns() != 0 {
		t.Errorf("%d connections were not given back", pool.Stat().AcquiredConns())
	}
}

// TestWriterClose: what was not flushed is undone, also in the caller's transaction, which goes on
// if nothing had been sent.
func TestWriterClose(t *testing.T) {
	for _, s := range strategies {
		conn := connect(t)
		table := pgbulk.Table{Name: newTable(t, conn, "id int primary key"), Columns: []string{"id"}, Key: []string{"id"}}
		w := newWriter(t.Context(), conn, opUpsert, table, settings{Strategy: s, ChunkRows: 2})
		for i := range 20 {
			if err := w.Write([]any{i}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err == nil || !strings.Contains(err.Error(), "not written") {
			t.Errorf("%q: Close with rows that were not flushed: %v", s, err)
		}
		if err := w.Close(); err != nil {
			t.Errorf("%q: the second Close: %v", s, err)
		}
		if err := w.Write([]any{1}); err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("after Close: %v", err)
		}
		if n := get[int](t, conn, "select count(*) from "+table.Name.Sanitize()); n != 0 {
			t.Errorf("%q: %d rows are in", s, n)
		}
		tx, err := conn.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		w = newWriter(t.Context(), tx, opInsert, table, settings{Strategy: s})
		for i := range 2 {
			if err := errors.Join(w.Write([]any{i}), w.Flush()); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Errorf("%q: Close: %v", s, err)
		}
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := get[int](t, conn, "select count(*) from "+table.Name.Sanitize()); n != 2 {
			t.Errorf("%q: %d rows are in", s, n)
		}
		usable(t, conn)
	}
}

// TestAlteredBetween alters the table after the call has asked about it, and before it sends a row.
// Bytes must not be read as the wrong type: those of an int8 are valid for a float8 too.
func TestAlteredBetween(t *testing.T) {
	for _, s := range strategies {
		for _, op := range []operation{opInsert, opUpsert} {
			if s == pgbulk.Copy && op == opInsert {
				continue // it has the lock of its COPY from the first row on
			}
			t.Run(fmt.Sprint(op, "/", name(s)), func(t *testing.T) {
				conn, other := connect(t), connect(t)
				table := pgbulk.Table{Name: newTable(t, conn, `id int primary key, "it's" int8`), Columns: []string{"id", "it's"}, Key: []string{"id"}}
				w := newWriter(t.Context(), conn, op, table, settings{Strategy: s})
				defer w.Close()
				var err error
				for i := 0; i < 40 && err == nil; i++ { // enough that Auto copies
					if i == 1 {
						must(t, other, "alter table "+table.Name.Sanitize()+` alter "it's" type float8`)
					}
					err = w.Write([]any{i, 4607182418800017408})
				}
				if err == nil {
					err = w.Flush()
				}
				if s == pgbulk.Auto && op == opInsert {
					if err == nil || !strings.Contains(err.Error(), "the table was altered") {
						t.Errorf("error %v", err)
					}
				} else if err != nil { // it is converted
					t.Error(err)
				}
				if n := get[int](t, conn, "select count(*) from "+table.Name.Sanitize()+` where "it's" <> 4607182418800017408`); n != 0 {
					t.Errorf("%d values were mistaken", n)
				}
				usable(t, conn)
			})
		}
	}
}

// TestWriterMemory: pushed rows are not collected.
func TestWriterMemory(t *testing.T) {
	conn := connect(t)
	for _, s := range []pgbulk.Strategy{pgbulk.Bind, pgbulk.Copy} {
		table := pgbulk.Table{Name: newTable(t, conn, "id int primary key, a bytea"), Columns: []string{"id", "a"}, Key: []string{"id"}}
		must(t, conn, "alter table "+table.Name.Sanitize()+" alter a set storage external")
		w := newWriter(t.Context(), conn, opUpsert, table, settings{Strategy: s})
		heap := func() uint64 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		before, most := heap(), uint64(0)
		n := short(500, 1000)
		for i := range n {
			if err := w.Write([]any{i, make([]byte, 64<<10)}); err != nil {
				t.Fatal(err)
			}
			if i%100 == 99 {
				most = max(most, heap())
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		w.Close()
		if most > before+8<<20 {
			t.Errorf("%q: the heap grew from %d to %d bytes over %d rows of 64 KB", s, before, most, n)
		}
	}
}

// TestWriterProperty pushes random rows and flushes at random, and compares with the same rows as
// one Upsert.
func TestWriterProperty(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	must(t, conn, types)
	ctx := context.Background()
	property(t, func(r source) {
		use := []kind{r.kind(), r.kind()}
		n := tables.Add(1)
		ours, theirs := fmt.Sprint("ours", n), fmt.Sprint("theirs", n)
		defer conn.Exec(ctx, "drop table if exists "+ours+", "+theirs)
		for _, name := range []string{ours, theirs} {
			if _, err := conn.Exec(ctx, fmt.Sprintf("create table %s (id int primary key, c0 %s, c1 %s)", name, use[0].sql, use[1].sql)); err != nil {
				t.Fatal(err)
			}
		}
		columns := []string{"id", "c0", "c1"}
		o := r.settings()
		o.Every = r.intn(10)
		w := newWriter(ctx, conn, opUpsert, pgbulk.Table{Name: pgx.Identifier{ours}, Columns: columns, Key: []string{"id"}}, o)
		defer w.Close()
		var rows [][]any
		for i := range r.size(25) {
			row := []any{i, use[0].draw(r), use[1].draw(r)}
			rows = append(rows, row)
			if err := w.Write(row); err != nil {
				t.Fatal(err)
			}
			if r.intn(6) == 0 {
				if err := w.Flush(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		w.Close()
		if r := w.committed; r.Rows != len(rows) || r.Affected != int64(len(rows)) {
			t.Fatalf("%+v, want %d rows", r, len(rows))
		}
		for _, row := range rows {
			if _, err := conn.Exec(ctx, "insert into "+theirs+" values ($1, $2, $3)", row...); err != nil {
				t.Fatal(err)
			}
		}
		same(t, conn, columns, ours, theirs)
	})
}
