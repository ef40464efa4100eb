package pgbulk_test

import (
	"errors"
	"testing"

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
