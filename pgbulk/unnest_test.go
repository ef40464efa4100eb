package pgbulk_test

import (
	"fmt"
	"strings"
	"testing"

	"postage/pgbulk"
)

// TestAuto says which strategy Auto takes, as docs/pgbulk.md has it.
func TestAuto(t *testing.T) {
	conn := connect(t)
	for _, c := range []struct {
		columns    string
		rows, size int
		value      func(text string) any
		want       pgbulk.Strategy
		insert     bool
	}{
		{"name text", 10, 50, nil, pgbulk.Bind, false},
		{"name text", 100, 50, nil, pgbulk.Unnest, false},
		{"name text", 5000, 100, nil, pgbulk.Copy, false},
		{"name text", 100, 2000, nil, pgbulk.Unnest, false},
		{"name text", 1000, 2000, nil, pgbulk.Unnest, false},
		// unnest would take these apart, or COPY has no binary for them.
		{"name text[]", 100, 50, func(text string) any { return []string{text} }, pgbulk.Bind, false},
		{"name aclitem", 100, 0, func(string) any { return "=r/" + get[string](t, conn, "select current_user") }, pgbulk.Bind, false},
		{"name text", 29, 50, nil, pgbulk.Bind, true},
		{"name text", 30, 50, nil, pgbulk.Copy, true},
		{"name text", 3, 16 << 10, nil, pgbulk.Bind, true},
		{"name text", 5, 16 << 10, nil, pgbulk.Copy, true},
		{"name text", 1, 100 << 10, nil, pgbulk.Copy, true},
	} {
		table := newTable(t, conn, "id int primary key, "+c.columns)
		rows := make([][]any, c.rows)
		for i := range rows {
			rows[i] = []any{i, strings.Repeat("x", c.size)}
			if c.value != nil {
				rows[i][1] = c.value(rows[i][1].(string))
			}
		}
		to := pgbulk.Table{Name: table, Columns: []string{"id", "name"}, Key: []string{"id"}}
		call := upsert
		if c.insert {
			call = insert
		}
		r, err := call(t.Context(), conn, to, pgbulk.Slice(rows), settings{})
		if err != nil || r.Strategy != c.want || r.Affected != int64(c.rows) {
			t.Errorf("%s, %d rows of %d bytes: %s, %v, want %s", c.columns, c.rows, c.size, fmt.Sprint(r), err, c.want)
		}
	}
}
