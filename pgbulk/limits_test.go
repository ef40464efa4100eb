package pgbulk_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"postage/pgbulk"
)

// TestLimits refuses what is over 1 GB before it is sent. The large value is never touched, so that
// it takes no memory.
func TestLimits(t *testing.T) {
	conn := connect(t)
	table := pgbulk.Table{Name: newTable(t, conn, "id int primary key, a bytea"), Columns: []string{"id", "a"}, Key: []string{"id"}}
	large := make([]byte, 1<<30)
	for _, s := range strategies {
		_, err := upsert(t.Context(), conn, table, pgbulk.Slice([][]any{{1, []byte("x")}, {2, large}}), settings{Strategy: s})
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
	t.Parallel()
	conn := connect(t)
	for _, s := range strategies {
		v := newVersioned(t, conn, 25_000, 1)
		result, err := upsert(t.Context(), conn, v.table, v.at(1), settings{Strategy: s, ChunkBytes: 1 << 30})
		if err != nil || result.Affected != 25_000 || result.Rows != 25_000 {
			t.Errorf("%s: %+v, %v", name(s), result, err)
		}
		v.check(t, conn, conn, err, 0, 1)
	}
}

// TestChunkMemory sets the largest chunk size: memory must depend on the rows, not on the limit.
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
		_, err := upsert(t.Context(), conn, table, pgbulk.Values(seq(c.rows, func(i int) []any { return []any{i, pad} })), settings{ChunkBytes: 1 << 29})
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

// TestKeyTwiceInDistantRows has the same key in rows that the Bind strategy sends in different
// statements.
func TestKeyTwiceInDistantRows(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	for _, s := range strategies {
		for _, n := range []int{1000, short(4000, 20_000)} {
			v := newVersioned(t, conn, n, 900)
			last := n - 10
			rows := pgbulk.Values(seq(n, func(i int) []any {
				if i == last {
					return []any{7, 1, v.pad}
				}
				return []any{i, 1, v.pad}
			}))
			_, err := upsert(t.Context(), conn, v.table, rows, settings{Strategy: s})
			var e *pgbulk.Error
			var pgErr *pgconn.PgError
			if !errors.As(err, &e) || !errors.As(err, &pgErr) || pgErr.Code != "21000" || e.FirstRow != 7 || e.Row != last {
				t.Errorf("%s: %v", name(s), err)
			}
			v.check(t, conn, conn, err, 0, 1)
		}
	}
}
