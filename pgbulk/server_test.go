package pgbulk_test

import (
	"strings"
	"testing"

	"postage/pgbulk"
)

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
			o := settings{Strategy: s, SkipUnchanged: true, Where: "t.id < 5"}
			r, err := upsert(t.Context(), conn, to, pgbulk.Slice(rows), o)
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
}
