package pgbulk_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"postage/pgbulk"
)

func TestDefault(t *testing.T) {
	conn := connect(t)
	type row struct {
		ID   any
		A, N any
	}
	for _, s := range []pgbulk.Strategy{pgbulk.Auto, pgbulk.Bind, pgbulk.Unnest} {
		t.Run(name(s), func(t *testing.T) {
			table := pgbulk.Table{Name: newTable(t, conn, "id serial primary key, a text default 'none', n int default 7"), Columns: []string{"id", "a", "n"}, Key: []string{"id"}}
			d := pgbulk.Default
			large := strings.Repeat("x", 300<<10) // a statement by itself
			rows := []row{{d, "a", 1}, {d, d, 2}, {d, d, 3}, {d, d, d}, {d, nil, nil}, {d, large, d}}
			r, err := insert(t.Context(), conn, table, pgbulk.Structs(func(yield func(row) bool) {
				for _, r := range rows {
					if !yield(r) {
						return
					}
				}
			}), settings{Strategy: s})
			if err != nil || r.Affected != 6 {
				t.Fatalf("%+v, %v", r, err)
			}
			must(t, conn, "update "+table.Name.Sanitize()+" set a = 'large' where a = $1", large)
			if got, want := content(t, conn, table.Name, "id"), "(1,a,1) (2,none,2) (3,none,3) (4,none,7) (5,,) (6,large,7)"; got != want {
				t.Errorf("table %s, want %s", got, want)
			}
			// What has an id is updated, what has none is new.
			r, err = upsert(t.Context(), conn, table, pgbulk.Slice([][]any{{2, "up", d}, {d, "new", 1}, {3, "up", 9}}), settings{Strategy: s})
			if err != nil || r.Affected != 3 {
				t.Fatalf("%+v, %v", r, err)
			}
			if got, want := content(t, conn, table.Name, "id"), "(1,a,1) (2,up,7) (3,up,9) (4,none,7) (5,,) (6,large,7) (7,new,1)"; got != want {
				t.Errorf("table %s, want %s", got, want)
			}
			// The row and column of an error, and of a key that comes again, where the parameters
			// are fewer than the columns.
			_, err = insert(t.Context(), conn, table, pgbulk.Slice([][]any{{d, "x", "1"}, {d, d, "2"}, {d, d, "what"}}), settings{Strategy: s})
			if e, ok := pgbulk.AsType[*pgbulk.Error](err); !ok || e.Row != 2 || e.Column != "n" {
				t.Errorf("error %v", err)
			}
			_, err = upsert(t.Context(), conn, table, pgbulk.Slice([][]any{{20, "x", 1}, {21, d, 2}, {d, d, 2}, {20, d, 3}}), settings{Strategy: s})
			if e, ok := pgbulk.AsType[*pgbulk.Error](err); !ok || e.Row != 3 || e.FirstRow != 0 {
				t.Errorf("error %v", err)
			}
			if n := get[int](t, conn, "select count(*) from "+table.Name.Sanitize()); n != 7 {
				t.Errorf("%d rows", n)
			}
			usable(t, conn)
		})
	}
}

// TestDefaultRefused: where DEFAULT cannot be sent, it is an error that names the row and the
// column, and no row is written.
func TestDefaultRefused(t *testing.T) {
	conn := connect(t)
	table := pgbulk.Table{Name: newTable(t, conn, "id int primary key, a text default 'none', j json default '1'"), Columns: []string{"id", "a", "j"}, Key: []string{"id"}}
	const last = 40 // when Auto copies
	rows := pgbulk.Values(seq(last+1, func(i int) []any {
		if i == last {
			return []any{i, "x", pgbulk.Default}
		}
		return []any{i, "x", "{}"}
	}))
	for what, call := range map[string]func() (pgbulk.Result, error){
		"copy insert": func() (pgbulk.Result, error) {
			return insert(t.Context(), conn, table, rows, settings{Strategy: pgbulk.Copy})
		},
		"auto insert": func() (pgbulk.Result, error) { return insert(t.Context(), conn, table, rows, settings{}) },
		"copy upsert": func() (pgbulk.Result, error) {
			return upsert(t.Context(), conn, table, rows, settings{Strategy: pgbulk.Copy})
		},
		"update": func() (pgbulk.Result, error) { return update(t.Context(), conn, table, rows, settings{}) },
	} {
		_, err := call()
		if e, ok := pgbulk.AsType[*pgbulk.Error](err); !ok || e.Row != last || e.Column != "j" || !strings.Contains(err.Error(), "pgbulk.Default") {
			t.Errorf("%s: %v", what, err)
		}
		if n := get[int](t, conn, "select count(*) from "+table.Name.Sanitize()); n != 0 {
			t.Errorf("%s: %d rows are in", what, n)
		}
		usable(t, conn)
	}
	if _, err := pgbulk.Exec(t.Context(), conn, "insert into "+table.Name.Sanitize()+" values (1, $1, '1')", pgbulk.Default); err == nil || !strings.Contains(err.Error(), "pgbulk.Default works only") {
		t.Errorf("exec: %v", err)
	}
}

// TestOmitZero has fields that are left out when they are zero, and fields with an option that is not
// known.
func TestOmitZero(t *testing.T) {
	conn := connect(t)
	type row struct {
		ID   int       `db:"id,omitzero"`
		Name string    `db:"name"`
		At   time.Time `db:"at,omitzero"`
	}
	for _, s := range []pgbulk.Strategy{pgbulk.Auto, pgbulk.Bind, pgbulk.Unnest} {
		table := pgbulk.Table{Name: newTable(t, conn, "id serial primary key, name text unique, at date default '2020-02-02'"), Key: []string{"name"}}
		var rows []row
		for i := range 50 {
			rows = append(rows, row{Name: fmt.Sprint(i)})
		}
		rows[49] = row{100, "last", time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC)}
		if _, err := insert(t.Context(), conn, table, pgbulk.Structs(slices.Values(rows)), settings{Strategy: s}); err != nil {
			t.Fatal(err)
		}
		rows = []row{{Name: "0"}, {Name: "new"}, {Name: "1", At: time.Date(2022, 1, 1, 0, 0, 0, 0, time.UTC)}, {101, "last", time.Time{}}}
		if _, err := upsert(t.Context(), conn, table, pgbulk.Structs(slices.Values(rows)), settings{Strategy: s}); err != nil {
			t.Fatal(err)
		}
		must(t, conn, "delete from "+table.Name.Sanitize()+" where id between 3 and 49")
		if got, want := content(t, conn, table.Name, "name"), "(1,0,2020-02-02) (2,1,2022-01-01) (101,last,2021-01-01) (51,new,2020-02-02)"; got != want {
			t.Errorf("%s: table %s, want %s", name(s), got, want)
		}
	}
	type unknown struct {
		ID int `db:"id,omitempty"`
	}
	table := pgbulk.Table{Name: newTable(t, conn, "id int"), Columns: []string{"id"}}
	_, err := insert(t.Context(), conn, table, pgbulk.Structs(slices.Values([]unknown{{1}})), settings{})
	if err == nil || !strings.Contains(err.Error(), `"omitempty"`) {
		t.Errorf("unknown option: %v", err)
	}
}

// TestDefaultProperty writes random rows with some values left out, and compares with pgx, which
// leaves out the columns.
func TestDefaultProperty(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	must(t, conn, types)
	ctx := context.Background()
	property(t, func(r source) {
		use := make([]kind, 1+r.size(3))
		columns, definition := []string{"id"}, "id int primary key"
		for i := range use {
			use[i] = r.kind()
			columns = append(columns, fmt.Sprint("c", i))
			definition += fmt.Sprintf(", c%d %s", i, use[i].sql)
		}
		run := func(sql string, args ...any) {
			if _, err := conn.Exec(ctx, sql, args...); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
		n := tables.Add(1)
		ours, theirs := fmt.Sprint("ours", n), fmt.Sprint("theirs", n)
		defer run("drop table if exists " + ours + ", " + theirs)
		for _, name := range []string{ours, theirs} {
			run("create table " + name + " (" + definition + ")")
		}
		for i, k := range use {
			// A value of the type as its default, as the server reads it.
			run(fmt.Sprintf("insert into %s (id, c%d) values (-1, $1)", theirs, i), k.draw(r))
			literal := ""
			if err := conn.QueryRow(ctx, fmt.Sprintf("delete from %s returning quote_literal(c%d::text)", theirs, i)).Scan(&literal); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{ours, theirs} {
				run(fmt.Sprintf("alter table %s alter c%d set default %s::%s", name, i, literal, k.sql))
			}
		}
		rows := make([][]any, r.size(20))
		for i := range rows {
			rows[i] = []any{i}
			given, places, args := "id", "$1", []any{i}
			for j, k := range use {
				if i > 0 && r.intn(3) == 0 {
					rows[i] = append(rows[i], pgbulk.Default)
					continue
				}
				v := valueOf(r, k, i)
				rows[i], args = append(rows[i], v), append(args, v)
				given, places = given+fmt.Sprint(", c", j), places+fmt.Sprint(", $", len(args))
			}
			run(fmt.Sprintf("insert into %s (%s) values (%s)", theirs, given, places), args...)
		}
		o := r.settings()
		o.Strategy = []pgbulk.Strategy{pgbulk.Bind, pgbulk.Unnest}[r.intn(2)]
		call := upsert
		if r.bool() {
			call = insert
		}
		if _, err := call(ctx, conn, pgbulk.Table{Name: pgx.Identifier{ours}, Columns: columns, Key: []string{"id"}}, pgbulk.Slice(rows), o); err != nil {
			t.Fatal(err)
		}
		same(t, conn, columns, ours, theirs)
	})
}
