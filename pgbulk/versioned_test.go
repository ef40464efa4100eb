package pgbulk_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"postage/pgbulk"
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
	if _, err := insert(context.Background(), conn, v.table, v.at(0), settings{}); err != nil {
		t.Fatal(err)
	}
	return v
}

func (v *versioned) at(version int) pgbulk.Source { return pgbulk.Fallible(v.rowsAt(version)) }

func (v *versioned) rowsAt(version int) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for i := range v.rows {
			if !yield([]any{i, version, v.pad}, nil) {
				return
			}
		}
	}
}

// A writing is one of the ways to give all rows another version. returned is called with each row
// that comes back, if rows do.
type writing struct {
	name  string
	write func(ctx context.Context, conn *pgx.Conn, v *versioned, rows iter.Seq2[[]any, error], o settings, returned func() error) error
}

type comesBack struct {
	ID  int
	Pad string
}

var writings = []writing{
	{"upsert", func(ctx context.Context, conn *pgx.Conn, v *versioned, rows iter.Seq2[[]any, error], o settings, _ func() error) error {
		_, err := upsert(ctx, conn, v.table, pgbulk.Fallible(rows), o)
		return err
	}},
	{"update", func(ctx context.Context, conn *pgx.Conn, v *versioned, rows iter.Seq2[[]any, error], o settings, _ func() error) error {
		_, err := update(ctx, conn, v.table, pgbulk.Fallible(rows), o)
		return err
	}},
	{"set to", func(ctx context.Context, conn *pgx.Conn, v *versioned, rows iter.Seq2[[]any, error], o settings, _ func() error) error {
		o.SetTo = map[string]pgbulk.SQL{"version": "case when excluded.version = -1 then -1 else t.version + 1 end"}
		o.Where = "t.id = excluded.id"
		_, err := upsert(ctx, conn, v.table, pgbulk.Fallible(rows), o)
		return err
	}},
	{"upsert returning", func(ctx context.Context, conn *pgx.Conn, v *versioned, rows iter.Seq2[[]any, error], o settings, returned func() error) error {
		o.Returning = pgbulk.Return(func(comesBack) error { return returned() })
		_, err := upsert(ctx, conn, v.table, pgbulk.Fallible(rows), o)
		return err
	}},
	{"update returning", func(ctx context.Context, conn *pgx.Conn, v *versioned, rows iter.Seq2[[]any, error], o settings, returned func() error) error {
		o.Returning = pgbulk.Return(func(comesBack) error { return returned() })
		_, err := update(ctx, conn, v.table, pgbulk.Fallible(rows), o)
		return err
	}},
}

// version is what all rows have.
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
		// The server may take a moment to see that the client is gone; only then is its outcome
		// final.
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
