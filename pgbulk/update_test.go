package pgbulk_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"postage/pgbulk"
)

func TestUpdate(t *testing.T) {
	conn := connect(t)
	for _, s := range strategies {
		t.Run(name(s), func(t *testing.T) {
			table := pgbulk.Table{Name: newTable(t, conn, "a int, b text, v int, note varchar(5), primary key (a, b)"), Columns: []string{"note", "b", "v", "a"}, Key: []string{"a", "b"}}
			must(t, conn, "insert into "+table.Name.Sanitize()+" values (1, 'x', 10, 'old'), (1, 'y', 20, 'old'), (2, 'x', 30, null)")
			for i, c := range []struct {
				o     settings
				rows  [][]any
				want  string
				count int64
			}{
				{settings{}, [][]any{{"new", "x", 11, 1}, {nil, "none", 1, 1}, {nil, nil, 1, nil}}, "(1,x,11,new) (1,y,20,old) (2,x,30,)", 1},
				{settings{Set: []string{"v"}}, [][]any{{"not", "y", 21, 1}, {"not", "x", nil, 2}}, "(1,x,11,new) (1,y,21,old) (2,x,,)", 2},
				{settings{SetTo: map[string]pgbulk.SQL{"v": "t.v + excluded.v"}, Where: "t.note = 'old'"}, [][]any{{"more", "y", 9, 1}, {"more", "x", 9, 1}}, "(1,x,11,new) (1,y,30,more) (2,x,,)", 1},
				{settings{Set: []string{}, SetTo: map[string]pgbulk.SQL{"note": "default"}}, [][]any{{"", "y", 0, 1}}, "(1,x,11,new) (1,y,30,) (2,x,,)", 1},
			} {
				c.o.Strategy = s
				r, err := update(t.Context(), conn, table, pgbulk.Slice(c.rows), c.o)
				if err != nil {
					t.Fatalf("step %d: %v", i, err)
				}
				if got := content(t, conn, table.Name, "a, b"); got != c.want || r.Affected != c.count || r.Rows != len(c.rows) {
					t.Errorf("step %d: result %+v, table %s; want %d, %s", i, r, got, c.count, c.want)
				}
			}
			// The server's error about a row of an update: the third is too long for its column.
			table.Columns = []string{"a", "b", "note"}
			_, err := update(t.Context(), conn, table, pgbulk.Slice([][]any{{5, "", ""}, {6, "", ""}, {1, "x", "far too long"}, {7, "", ""}}), settings{Strategy: s})
			if e, ok := pgbulk.AsType[*pgbulk.Error](err); !ok || codeOf(err) != "22001" || e.Row > 2 || e.Row >= 0 && e.LastRow < 2 {
				t.Errorf("error %v, want row 2", err)
			}
			usable(t, conn)
		})
	}
}

// TestUpdateKeyTwice: PostgreSQL's UPDATE ... FROM would take either row. It is an error instead,
// even if only the database knows that the keys are equal, and names both rows if the client or the
// staging table knows.
func TestUpdateKeyTwice(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	for _, s := range []pgbulk.Strategy{pgbulk.Bind, pgbulk.Copy} {
		for _, chunk := range []int{0, 3} {
			for _, c := range []struct {
				key    string
				values []any
				first  int
				again  int
			}{
				{"int8", []any{1, 2, 3, 4, 5, 6, 7, 3, 9}, 2, 7},
				{"text", []any{"a", "b", "c", "d", "e", "e", "g", "h", "i"}, 4, 5},
				{"numeric", []any{"0", "1.0", "1.00", "4", "5", "6", "7", "8", "9"}, 1, 2},
				{"interval", []any{"0", "30 days", "1 mon", "4 s", "5 s", "6 s", "7 s", "8 s", "9 s"}, 1, 2},
			} {
				t.Run(fmt.Sprint(s, "/", chunk, "/", c.key), func(t *testing.T) {
					table := pgbulk.Table{Name: newTable(t, conn, "k "+c.key+" unique, v int"), Columns: []string{"k", "v"}, Key: []string{"k"}}
					var rows [][]any
					for i, k := range c.values {
						rows = append(rows, []any{k, i})
						must(t, conn, "insert into "+table.Name.Sanitize()+" values ($1, -1) on conflict do nothing", k)
					}
					before := digest(t, conn, table.Name)
					_, err := update(t.Context(), conn, table, pgbulk.Slice(rows), settings{Strategy: s, ChunkRows: chunk})
					e, ok := pgbulk.AsType[*pgbulk.Error](err)
					if pg, is := pgbulk.AsType[*pgconn.PgError](err); !ok || !is || pg.Code != "21000" {
						t.Fatalf("error %v", err)
					}
					bytesTell := c.key == "int8" || c.key == "text"
					if (s == pgbulk.Copy || bytesTell) && (e.Row != c.again || e.FirstRow != c.first) {
						t.Errorf("rows %d and %d, want %d and %d: %v", e.FirstRow, e.Row, c.first, c.again, err)
					}
					if after := digest(t, conn, table.Name); after != before {
						t.Errorf("rows were updated")
					}
					usable(t, conn)
				})
			}
		}
	}
}

// TestUpdateProperty updates random rows of random types with pgbulk and, one by one, with pgx.
func TestUpdateProperty(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	must(t, conn, types)
	ctx := context.Background()
	property(t, func(r source) {
		var use []kind
		for range 1 + r.size(4) {
			use = append(use, r.kind())
		}
		run := func(sql string, args ...any) {
			if _, err := conn.Exec(ctx, sql, args...); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
		n := tables.Add(1)
		ours, theirs := fmt.Sprint("ours", n), fmt.Sprint("theirs", n)
		definition, sets, columns := "id int primary key, grp text", "", []string{"id"}
		for i, k := range use {
			definition += fmt.Sprintf(", c%d %s", i, k.sql)
			sets += fmt.Sprintf(", c%d = $%d", i, i+2)
			columns = append(columns, fmt.Sprintf("c%d", i))
		}
		defer run("drop table if exists " + ours + ", " + theirs)
		for _, name := range []string{ours, theirs} {
			run("create table " + name + " (" + definition + ")")
			run("insert into " + name + " (id, grp) select n, n % 3 from generate_series(1, 25) as n")
		}
		ids := r.Perm(30)[:r.size(30)]
		var rows [][]any
		for i, id := range ids {
			row := []any{id}
			for _, k := range use {
				row = append(row, valueOf(r, k, i))
			}
			rows = append(rows, row)
		}
		o := r.settings()
		o.Where = "t.grp <> '0'"
		table := pgbulk.Table{Name: pgx.Identifier{ours}, Columns: columns, Key: []string{"id"}}
		sql := "update " + theirs + " set " + strings.TrimPrefix(sets, ", ") + " where id = $1 and grp <> '0'"
		got, err := update(ctx, conn, table, pgbulk.Slice(rows), o)
		if err != nil {
			t.Fatal(err)
		}
		var affected int64
		for _, row := range rows {
			tag, err := conn.Exec(ctx, sql, row...)
			if err != nil {
				t.Fatalf("pgx: %v", err)
			}
			affected += tag.RowsAffected()
		}
		if got.Affected != affected || got.Rows != len(rows) {
			t.Fatalf("%+v, pgx affected %d of %d", got, affected, len(rows))
		}
		same(t, conn, append(columns, "grp"), ours, theirs)
	})
}
