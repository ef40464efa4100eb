package pgbulk_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"postage/pgbulk"
)

// TestReusedBytes has a source that overwrites each row with the next, as it may: large values are
// sent without a copy, and must have been sent before that.
func TestReusedBytes(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	table := pgbulk.Table{Name: newTable(t, conn, "id int primary key, a bytea, b text, c jsonb"), Columns: []string{"id", "a", "b", "c"}, Key: []string{"id"}}
	for _, s := range strategies {
		for _, size := range []int{100, 3000, 40_000, 400_000} {
			n := 2 + short(600_000, 2_000_000)/size
			a, c := make([]byte, size), make([]byte, size)
			var b string
			row := []any{0, &a, &b, c}
			source := pgbulk.Values(seq(n, func(i int) []any {
				letter := "abcdefghijklmnopqrstuvwxyz"[i%26]
				for j := range size {
					a[j], c[j] = letter, letter
				}
				c[0], c[size-1] = '"', '"'
				b = strings.Repeat(string(rune(letter)), size)
				row[0] = i
				return row
			}))
			if _, err := upsert(t.Context(), conn, table, source, settings{Strategy: s}); err != nil {
				t.Fatal(err)
			}
			wrong := get[int](t, conn, "select count(*) from "+table.Name.Sanitize()+` where a <> convert_to(repeat(chr(97 + id % 26), $1::int), 'UTF8')
				or b <> repeat(chr(97 + id % 26), $1) or c #>> '{}' <> repeat(chr(97 + id % 26), $1 - 2)`, size)
			if all := get[int](t, conn, "select count(*) from "+table.Name.Sanitize()); wrong > 0 || all != n {
				t.Errorf("%s, %d bytes: %d of %d rows are wrong, want %d right ones", name(s), size, wrong, all, n)
			}
			must(t, conn, "truncate "+table.Name.Sanitize())
		}
	}
}

// TestKeyBehindLargeValues finds keys that come twice in rows whose large values, before the key,
// are not where the key is.
func TestKeyBehindLargeValues(t *testing.T) {
	conn := connect(t)
	table := pgbulk.Table{Name: newTable(t, conn, "pad text, doc jsonb, id int, sub text, primary key (id, sub)"), Columns: []string{"pad", "doc", "id", "sub"}, Key: []string{"id", "sub"}}
	pad, doc := strings.Repeat("p", 5000), `"`+strings.Repeat("d", 5000)+`"`
	for _, second := range []int{7, 400} { // in the same statement, and in another
		rows := pgbulk.Values(seq(500, func(i int) []any {
			if i == second {
				return []any{pad, doc, 3, "s3"}
			}
			return []any{pad, doc, i, fmt.Sprint("s", i)}
		}))
		for _, s := range strategies {
			_, err := upsert(t.Context(), conn, table, rows, settings{Strategy: s})
			var e *pgbulk.Error
			var pgErr *pgconn.PgError
			if !errors.As(err, &e) || !errors.As(err, &pgErr) || pgErr.Code != "21000" || e.FirstRow != 3 || e.Row != second {
				t.Errorf("%s: %v, want row %d, same key as row 3", name(s), err, second)
			}
			usable(t, conn)
		}
	}
	if n := get[int](t, conn, "select count(*) from "+table.Name.Sanitize()); n != 0 {
		t.Errorf("%d rows", n)
	}
}

// TestLargeBesideSmall compares with pgx what is written of rows that have large values, NULLs and
// empty strings side by side.
func TestLargeBesideSmall(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	large := string(bytes.Repeat([]byte("0123456789abcdef"), 1<<13)) // 128 KB
	for _, s := range strategies {
		var rows [][]any
		for i := range 60 {
			row := []any{i, "", nil, large[:(i*977)%len(large)], []byte(large[:(i*7919)%len(large)]), `"` + large[:(i*2311)%len(large)] + `"`}
			rows = append(rows, row)
		}
		text := func(source) any { return nil }
		compare(t, conn, []kind{{"text", text}, {"jsonb", text}, {"varchar", text}, {"bytea", text}, {"jsonb", text}}, rows, settings{Strategy: s}, false)
	}
}
