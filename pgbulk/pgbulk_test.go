package pgbulk_test

import (
	"context"
	"database/sql/driver"
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

var strategies = []pgbulk.Strategy{pgbulk.Auto, pgbulk.Bind, pgbulk.Copy, pgbulk.Unnest}

func name(s pgbulk.Strategy) string {
	if s == pgbulk.Auto {
		return "auto"
	}
	return string(s)
}

var pageTable = []string{"id", "colA", "colB", "colC", "colD"}

func TestPageUpsert(t *testing.T) {
	conn := connect(t)
	rows := pageData(100, 16384, 1)
	again := pageData(100, 16384, 2)
	for i := range again[:60] {
		again[i][0] = rows[i][0]
	}
	want := newTable(t, conn, pageColumns)
	for _, r := range [][][]any{rows, again} {
		sql, args := pageStatement(want, r)
		must(t, conn, sql, args...)
	}
	for _, s := range strategies {
		t.Run(name(s), func(t *testing.T) {
			table := pgbulk.Table{Name: newTable(t, conn, pageColumns), Columns: pageTable, Key: []string{"id"}}
			for _, r := range [][][]any{rows, again} {
				result, err := pgbulk.Upsert(t.Context(), conn, table, pgbulk.Slice(r), pgbulk.Options{Strategy: s})
				if err != nil {
					t.Fatal(err)
				}
				if result.Rows != 100 || result.Affected != 100 {
					t.Errorf("result %+v", result)
				}
			}
			if got, want := digest(t, conn, table.Name), digest(t, conn, want); got != want {
				t.Errorf("table %s, want %s", got, want)
			}
			usable(t, conn)
		})
	}
	t.Run("exec", func(t *testing.T) {
		table := newTable(t, conn, pageColumns)
		for _, r := range [][][]any{rows, again} {
			sql, args := pageStatement(table, r)
			for range 2 {
				tag, err := pgbulk.Exec(t.Context(), conn, sql, args...)
				if err != nil {
					t.Fatal(err)
				}
				if tag.RowsAffected() != 100 {
					t.Errorf("tag %v", tag)
				}
			}
		}
		if got, want := digest(t, conn, table), digest(t, conn, want); got != want {
			t.Errorf("table %s, want %s", got, want)
		}
	})
}

func TestConflicts(t *testing.T) {
	conn := connect(t)
	for _, s := range strategies {
		t.Run(name(s), func(t *testing.T) {
			table := pgbulk.Table{Name: newTable(t, conn, "id int primary key, a text, b text"), Columns: []string{"id", "a", "b"}, Key: []string{"id"}}
			write := func(o pgbulk.Options, rows ...[]any) (pgbulk.Result, error) {
				o.Strategy = s
				return pgbulk.Upsert(t.Context(), conn, table, pgbulk.Slice(rows), o)
			}
			content := func() string {
				return get[string](t, conn, "select coalesce(string_agg(concat_ws(' ', id, a, b), ', ' order by id), '') from "+table.Name.Sanitize())
			}
			for i, c := range []struct {
				o        pgbulk.Options
				rows     [][]any
				affected int64
				want     string
			}{
				{pgbulk.Options{}, [][]any{{1, "a", "b"}, {2, "c", nil}}, 2, "1 a b, 2 c"},
				{pgbulk.Options{}, [][]any{{2, "d", "e"}, {3, "f", ""}}, 2, "1 a b, 2 d e, 3 f "},
				{pgbulk.Options{Conflict: pgbulk.DoNothing}, [][]any{{2, "x", "x"}, {4, "g", "h"}}, 1, "1 a b, 2 d e, 3 f , 4 g h"},
				{pgbulk.Options{Set: []string{"b"}}, [][]any{{1, "x", "y"}}, 1, "1 a y, 2 d e, 3 f , 4 g h"},
				{pgbulk.Options{}, nil, 0, "1 a y, 2 d e, 3 f , 4 g h"},
			} {
				r, err := write(c.o, c.rows...)
				if err != nil {
					t.Fatal(err)
				}
				if got := content(); got != c.want || r.Affected != c.affected {
					t.Errorf("step %d: %d affected, table %q; want %d, %q", i, r.Affected, got, c.affected, c.want)
				}
			}
			if _, err := write(pgbulk.Options{Conflict: pgbulk.Fail}, []any{1, "", ""}); err == nil || !strings.Contains(err.Error(), "23505") {
				t.Errorf("Fail: %v", err)
			}
			usable(t, conn)
		})
	}
}

type person struct {
	ID       int64
	FullName string `db:"full_name"`
	Notes    *string
	Data     []byte
	Tags     []string
	Secret   string `db:"-"`
}

func TestStructs(t *testing.T) {
	conn := connect(t)
	note := "note"
	people := []person{
		{ID: 1, FullName: "Ada", Notes: &note, Data: []byte{0, 1}, Tags: []string{"x", "y"}},
		{ID: 2, FullName: "", Data: []byte{}},
		{ID: 3, FullName: "Grace"},
	}
	for _, s := range strategies {
		t.Run(name(s), func(t *testing.T) {
			table := pgbulk.Table{Name: newTable(t, conn, "id int8 primary key, fullname text, full_name text, notes text, data bytea, tags text[]"), Key: []string{"id"}}
			rows := pgbulk.Structs(slices.Values(people))
			table.Columns = []string{"full_name", "notes", "data", "tags", "id"}
			if _, err := pgbulk.Upsert(t.Context(), conn, table, rows, pgbulk.Options{Strategy: s}); err != nil {
				t.Fatal(err)
			}
			var pointers []*person
			for i := range people {
				p := people[i]
				p.ID += 10
				pointers = append(pointers, &p)
			}
			if _, err := pgbulk.Insert(t.Context(), conn, table, pgbulk.Structs(slices.Values(pointers)), pgbulk.Options{Strategy: s}); err != nil {
				t.Fatal(err)
			}
			got := get[string](t, conn, "select string_agg(concat(id, '|', full_name, '|', notes, '|', coalesce(data::text, 'null'), '|', coalesce(tags::text, 'null')), ' ' order by id) from "+table.Name.Sanitize())
			half := `1|Ada|note|\x0001|{x,y} 2|||\x|null 3|Grace||null|null`
			other := strings.NewReplacer("1|A", "11|A", "2||", "12||", "3|G", "13|G").Replace(half)
			if got != half+" "+other {
				t.Errorf("table %s", got)
			}
		})
	}
}

func TestTransports(t *testing.T) {
	conn := connect(t)
	table := pgbulk.Table{Name: newTable(t, conn, "id int primary key, a text"), Columns: []string{"id", "a"}, Key: []string{"id"}}
	pool, err := pgxpool.New(t.Context(), dsn(t, pgtest.TCP))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	held, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	id := 0
	for _, s := range strategies {
		for _, db := range []pgbulk.DB{conn, pool, held} {
			id++
			if _, err := pgbulk.Upsert(t.Context(), db, table, pgbulk.Slice([][]any{{id, "x"}}), pgbulk.Options{Strategy: s}); err != nil {
				t.Fatalf("%T: %v", db, err)
			}
		}
	}
	if n := get[int](t, conn, "select count(*) from "+table.Name.Sanitize()); n != id {
		t.Errorf("%d rows, want %d", n, id)
	}
	if _, err := pgbulk.Exec(t.Context(), pool, "select $1::int", 1); err != nil {
		t.Error(err)
	}
}

func TestCallersTransaction(t *testing.T) {
	for _, s := range strategies {
		t.Run(name(s), func(t *testing.T) {
			conn := connect(t)
			table := pgbulk.Table{Name: newTable(t, conn, "id int primary key, a text check (a <> 'bad')"), Columns: []string{"id", "a"}, Key: []string{"id"}}
			count := func() int { return get[int](t, conn, "select count(*) from "+table.Name.Sanitize()) }
			rows := func(from, n int) pgbulk.Rows {
				var r [][]any
				for i := range n {
					r = append(r, []any{from + i, "x"})
				}
				return pgbulk.Slice(r)
			}
			begin := func() pgx.Tx {
				tx, err := conn.Begin(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return tx
			}
			o := pgbulk.Options{Strategy: s}
			tx := begin()
			for i := range 3 { // several calls in one transaction
				if _, err := pgbulk.Upsert(t.Context(), tx, table, rows(10*i, 10), o); err != nil {
					t.Fatal(err)
				}
			}
			tx.Rollback(t.Context())
			if n := count(); n != 0 {
				t.Errorf("%d rows after rollback", n)
			}
			tx = begin()
			if _, err := pgbulk.Upsert(t.Context(), tx, table, rows(0, 10), o); err != nil {
				t.Fatal(err)
			}
			tx.Commit(t.Context())
			if n := count(); n != 10 {
				t.Errorf("%d rows after commit", n)
			}
			if _, err := pgbulk.Upsert(t.Context(), tx, table, rows(0, 10), o); !errors.Is(err, pgx.ErrTxClosed) {
				t.Errorf("in a transaction that is over: %v", err)
			}

			// A failed call leaves the transaction aborted, and its savepoint to go back to.
			tx = begin()
			inner, err := tx.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var e *pgbulk.Error
			_, err = pgbulk.Upsert(t.Context(), inner, table, pgbulk.Slice([][]any{{100, "x"}, {101, "x"}, {102, "bad"}, {103, "x"}}), o)
			if !errors.As(err, &e) || e.Row != 2 || e.LastRow != 2 {
				t.Errorf("error %v", err)
			}
			if status := conn.PgConn().TxStatus(); status != 'E' {
				t.Errorf("transaction status %c, want E", status)
			}
			if _, err := pgbulk.Upsert(t.Context(), inner, table, rows(100, 1), o); err == nil || !strings.Contains(err.Error(), "aborted") {
				t.Errorf("in an aborted transaction: %v", err)
			}
			inner.Rollback(t.Context())
			if _, err := pgbulk.Upsert(t.Context(), tx, table, rows(10, 1), o); err != nil {
				t.Error(err)
			}
			if err := tx.Commit(t.Context()); err != nil {
				t.Error(err)
			}
			if n := count(); n != 11 {
				t.Errorf("%d rows", n)
			}
			usable(t, conn)
		})
	}
}

// TestErrorPosition has one wrong row in the middle of many, and expects its number and column.
func TestErrorPosition(t *testing.T) {
	conn := connect(t)
	audit := newTable(t, conn, "a text check (a <> 'audit')").Sanitize()
	must(t, conn, `create or replace function refuse() returns trigger language plpgsql as
		$$ begin
			if new.a = 'trigger' then raise exception 'refused'; end if;
			if new.a = 'audit' then execute 'insert into `+audit+` values ($1)' using new.a; end if;
			return new;
		end $$`)
	const n, wrong = 500, 137
	for _, c := range []struct {
		what   string
		row    []any
		code   string
		column string
		first  int
	}{
		{"check", []any{wrong, "bad", 1}, "23514", "", -1},
		{"not null", []any{wrong, nil, 1}, "23502", "a", -1},
		{"unique", []any{wrong, "taken", 1}, "23505", "", -1},
		{"trigger", []any{wrong, "trigger", 1}, "P0001", "", -1},
		{"trigger's own statement", []any{wrong, "audit", 1}, "23514", "", -1}, // its parameters are not ours
		{"utf-8", []any{wrong, "a\xffb", 1}, "22021", "a", -1},
		{"zero byte", []any{wrong, "a\x00b", 1}, "22021", "a", -1},
		{"duplicate", []any{17, "x", 1}, "21000", "", 17},
		{"go type", []any{wrong, "x", struct{}{}}, "", "b", -1},
		{"go range", []any{wrong, "x", int64(1) << 40}, "", "b", -1},
		{"too few", []any{wrong, "x"}, "", "", -1},
	} {
		for _, s := range strategies {
			for _, insert := range []bool{false, true} {
				if insert && (c.what == "duplicate") {
					continue
				}
				t.Run(c.what+"/"+name(s)+map[bool]string{true: "/insert"}[insert], func(t *testing.T) {
					table := pgbulk.Table{Name: newTable(t, conn, "id int primary key, a text not null unique check (a <> 'bad'), b int"), Columns: []string{"id", "a", "b"}, Key: []string{"id"}}
					must(t, conn, "insert into "+table.Name.Sanitize()+" values (-1, 'taken', 0)")
					must(t, conn, "create trigger refuse before insert on "+table.Name.Sanitize()+" for each row execute function refuse()")
					rows := make([][]any, n)
					for i := range rows {
						rows[i] = []any{i, "row " + string(rune('a'+i%26)) + strings.Repeat("y", i), i}
					}
					rows[wrong] = c.row
					before := digest(t, conn, table.Name)
					call := pgbulk.Upsert
					if insert {
						call = pgbulk.Insert
					}
					_, err := call(t.Context(), conn, table, pgbulk.Slice(rows), pgbulk.Options{Strategy: s})
					var e *pgbulk.Error
					if !errors.As(err, &e) {
						t.Fatalf("error %v", err)
					}
					t.Log(err)
					var pgErr *pgconn.PgError
					if errors.As(err, &pgErr); c.code != "" && (pgErr == nil || pgErr.Code != c.code) {
						t.Errorf("error %v, want code %s", err, c.code)
					}
					if e.Row != wrong || e.LastRow != wrong || e.Column != c.column || e.FirstRow != c.first || e.Closed || e.Uncertain {
						t.Errorf("%+v, want row %d, column %q, first row %d", *e, wrong, c.column, c.first)
					}
					if after := digest(t, conn, table.Name); after != before {
						t.Error("the table has changed")
					}
					if status := conn.PgConn().TxStatus(); status != 'I' {
						t.Errorf("transaction status %c", status)
					}
					usable(t, conn)
				})
			}
		}
	}
}

// TestErrorOfNoRow has errors that no row is to blame for.
func TestErrorOfNoRow(t *testing.T) {
	conn := connect(t)
	rows := pgbulk.Values(seq(100, func(i int) []any { return []any{i, "x"} }))
	for _, s := range strategies {
		table := pgbulk.Table{Name: newTable(t, conn, "id int, a text"), Columns: []string{"id", "a"}, Key: []string{"id"}}
		_, err := pgbulk.Upsert(t.Context(), conn, table, rows, pgbulk.Options{Strategy: s})
		var e *pgbulk.Error
		var pgErr *pgconn.PgError
		if !errors.As(err, &e) || !errors.As(err, &pgErr) || pgErr.Code != "42P10" || e.Row != -1 || e.LastRow != -1 {
			t.Errorf("%s: without a unique index: %v", name(s), err)
		}
		usable(t, conn)
	}
}

// TestErrorPositionInContext has the server tell all parameters with its errors, and none of them is to blame.
func TestErrorPositionInContext(t *testing.T) {
	conn := connect(t)
	must(t, conn, "set log_parameter_max_length_on_error = 100")
	table := pgbulk.Table{Name: newTable(t, conn, "id int primary key, a text check (a <> 'bad')"), Columns: []string{"id", "a"}, Key: []string{"id"}}
	rows := pgbulk.Values(seq(100, func(i int) []any { return []any{i, map[bool]string{true: "bad", false: "good"}[i == 57]} }))
	for _, s := range strategies {
		_, err := pgbulk.Upsert(t.Context(), conn, table, rows, pgbulk.Options{Strategy: s})
		var e *pgbulk.Error
		if !errors.As(err, &e) || e.Row != 57 || e.LastRow != 57 || e.Column != "" {
			t.Errorf("%s: %v", name(s), err)
		}
	}
}

// TestKeyTwiceInWrongRow has a key come again in a row that the server cannot read.
func TestKeyTwiceInWrongRow(t *testing.T) {
	conn := connect(t)
	table := pgbulk.Table{Name: newTable(t, conn, "id int primary key, a text"), Columns: []string{"id", "a"}, Key: []string{"id"}}
	rows := pgbulk.Values(seq(60, func(i int) []any {
		if i == 50 {
			return []any{3, "\xff"}
		}
		return []any{i, "x"}
	}))
	_, err := pgbulk.Upsert(t.Context(), conn, table, rows, pgbulk.Options{Strategy: pgbulk.Bind, ChunkRows: 10})
	var e *pgbulk.Error
	if !errors.As(err, &e) || e.Row != 50 || e.LastRow != 50 || e.Column != "a" {
		t.Errorf("error %v, want row 50, column a", err)
	}
}

// madValuer is a driver.Valuer that panics.
type madValuer struct{}

func (madValuer) Value() (driver.Value, error) { panic("the value is mad") }

func TestPanickingValue(t *testing.T) {
	conn := connect(t)
	table := pgbulk.Table{Name: newTable(t, conn, "id int primary key, n int"), Columns: []string{"id", "n"}, Key: []string{"id"}}
	for _, s := range strategies {
		_, err := pgbulk.Upsert(t.Context(), conn, table, pgbulk.Slice([][]any{{1, 1}, {2, madValuer{}}}), pgbulk.Options{Strategy: s})
		var e *pgbulk.Error
		if !errors.As(err, &e) || e.Row != 1 || e.Column != "n" || !strings.Contains(err.Error(), "the value is mad") {
			t.Errorf("%s: %v", name(s), err)
		}
		usable(t, conn)
	}
}

// TestNullKeys has keys with a NULL: they are never the same, unless the index says NULLS NOT DISTINCT.
func TestNullKeys(t *testing.T) {
	conn := connect(t)
	rows := func(last ...any) pgbulk.Rows {
		return pgbulk.Values(seq(60, func(i int) []any {
			switch i {
			case 3, 25:
				return []any{"x", nil, 1}
			case 50:
				return last
			}
			return []any{"x", i, 1}
		}))
	}
	const distinct, notDistinct = "unique (id, a)", "unique nulls not distinct (id, a)"
	for _, c := range []struct {
		what, indexes string
		rows          pgbulk.Rows
		first, second int // -1 if there is no error
	}{
		{"all different", distinct, rows("x", 50, 1), -1, -1},
		{"another key twice", distinct, rows("x", 7, 1), 7, 50},
		{"nulls alike", notDistinct, rows("x", 50, 1), 3, 25},
		{"nulls alike in other columns", distinct + ", unique nulls not distinct (id, b, a)", pgbulk.Values(seq(60, func(i int) []any { return []any{fmt.Sprint(i), nil, 1} })), -1, -1},
	} {
		if c.indexes != distinct && get[int](t, conn, "select current_setting('server_version_num')::int") < 150000 {
			continue
		}
		for _, s := range strategies {
			for _, chunkRows := range []int{0, 10} { // in the same statement, and in another
				table := pgbulk.Table{Name: newTable(t, conn, "b text, id int, a int, "+c.indexes), Columns: []string{"b", "id", "a"}, Key: []string{"id", "a"}}
				_, err := pgbulk.Upsert(t.Context(), conn, table, c.rows, pgbulk.Options{Strategy: s, ChunkRows: chunkRows})
				var e *pgbulk.Error
				switch {
				case c.second < 0 && err != nil:
					t.Errorf("%s, %s, %d rows a statement: %v", c.what, name(s), chunkRows, err)
				case c.second >= 0 && (!errors.As(err, &e) || e.FirstRow != c.first || e.Row != c.second):
					t.Errorf("%s, %s, %d rows a statement: error %v, want row %d, same key as row %d", c.what, name(s), chunkRows, err, c.second, c.first)
				}
				usable(t, conn)
			}
		}
	}
}

func TestExecErrors(t *testing.T) {
	conn := connect(t)
	for sql, column := range map[string]string{
		"select $1::int, $2::text":  "$2",
		"select $1::int, $2::jsonb": "$2",
	} {
		for range 2 {
			_, err := pgbulk.Exec(t.Context(), conn, sql, 1, "\xff")
			var e *pgbulk.Error
			if !errors.As(err, &e) || e.Column != column {
				t.Errorf("%s: %v", sql, err)
			}
		}
	}
	if _, err := pgbulk.Exec(t.Context(), conn, "select $1::int", "x", 2); err == nil || !strings.Contains(err.Error(), "2 arguments for 1 parameters") {
		t.Error(err)
	}
	if _, err := pgbulk.Exec(t.Context(), conn, "select $1::int", struct{}{}); err == nil || !strings.Contains(err.Error(), "$1") {
		t.Error(err)
	}
	if _, err := pgbulk.Exec(t.Context(), conn, "selec"); err == nil {
		t.Error("no error")
	}
	if tag, err := pgbulk.Exec(t.Context(), conn, "select @a::int, @b::text", pgx.NamedArgs{"a": 1, "b": "x"}); err != nil || tag.RowsAffected() != 1 {
		t.Error(tag, err)
	}
	usable(t, conn)
}

// TestExecStaleStatement drops and alters what a kept statement was prepared for.
func TestExecStaleStatement(t *testing.T) {
	conn := connect(t)
	table := newTable(t, conn, "a int")
	sql := "insert into " + table.Sanitize() + " values ($1) returning *"
	run := func(v any) {
		t.Helper()
		if _, err := pgbulk.Exec(t.Context(), conn, sql, v); err != nil {
			t.Error(err)
		}
	}
	run(1)
	must(t, conn, "deallocate all")
	run(2)
	must(t, conn, "alter table "+table.Sanitize()+" add b text")
	run(3)
	must(t, conn, "alter table "+table.Sanitize()+" alter a type text")
	run("4")
	for i := range 100 { // more than are kept
		if _, err := pgbulk.Exec(t.Context(), conn, "select "+strings.Repeat(" ", i)+"$1::int", i); err != nil {
			t.Fatal(err)
		}
	}
	if n := get[int](t, conn, "select count(*) from pg_prepared_statements where name like 'pgbulk%'"); n > 40 {
		t.Errorf("%d statements kept", n)
	}
	if got := get[string](t, conn, "select string_agg(a, ' ' order by a) from "+table.Sanitize()); got != "1 2 3 4" {
		t.Errorf("table %s", got)
	}
}

// TestExecClosesStatements has statements that become stale again and again: the server does not gather them.
func TestExecClosesStatements(t *testing.T) {
	conn := connect(t)
	must(t, conn, "create role insertless; grant usage on schema public to insertless")
	defer must(t, conn, "reset role; drop owned by insertless; drop role insertless")
	table := newTable(t, conn, "a int")
	for i := range 50 {
		sql := fmt.Sprintf("insert into %s values ($1 + %d)", table.Sanitize(), i%10)
		must(t, conn, "reset role")
		for range 2 {
			if _, err := pgbulk.Exec(t.Context(), conn, sql, 1); err != nil {
				t.Fatal(err)
			}
		}
		must(t, conn, "set role insertless")
		_, err := pgbulk.Exec(t.Context(), conn, sql, 1)
		if pgErr, ok := errors.AsType[*pgconn.PgError](err); !ok || pgErr.Code != "42501" {
			t.Fatal(err)
		}
	}
	must(t, conn, "reset role")
	if n := get[int](t, conn, "select count(*) from pg_prepared_statements where name like 'pgbulk%'"); n > 11 {
		t.Errorf("%d statements for 10 texts", n)
	}
}

func TestRefused(t *testing.T) {
	conn := connect(t)
	table := newTable(t, conn, "id int primary key, a text")
	for want, c := range map[string]struct {
		table pgbulk.Table
		rows  pgbulk.Rows
		o     pgbulk.Options
	}{
		"no table name":     {pgbulk.Table{Columns: []string{"id"}, Key: []string{"id"}}, pgbulk.Slice(nil), pgbulk.Options{}},
		"no columns":        {pgbulk.Table{Name: table, Key: []string{"id"}}, pgbulk.Slice(nil), pgbulk.Options{}},
		"no key":            {pgbulk.Table{Name: table, Columns: []string{"id"}}, pgbulk.Slice(nil), pgbulk.Options{}},
		"named twice":       {pgbulk.Table{Name: table, Columns: []string{"id", "id"}, Key: []string{"id"}}, pgbulk.Slice(nil), pgbulk.Options{}},
		"not among":         {pgbulk.Table{Name: table, Columns: []string{"a"}, Key: []string{"id"}}, pgbulk.Slice(nil), pgbulk.Options{}},
		"unknown strategy":  {pgbulk.Table{Name: table, Columns: []string{"id"}, Key: []string{"id"}}, pgbulk.Slice(nil), pgbulk.Options{Strategy: "x"}},
		"no source":         {pgbulk.Table{Name: table, Columns: []string{"id"}, Key: []string{"id"}}, pgbulk.Rows{}, pgbulk.Options{}},
		"not structs":       {pgbulk.Table{Name: table, Columns: []string{"id"}, Key: []string{"id"}}, pgbulk.Structs(slices.Values([]int{1})), pgbulk.Options{}},
		"has no field":      {pgbulk.Table{Name: table, Columns: []string{"id", "a"}, Key: []string{"id"}}, pgbulk.Structs(slices.Values([]struct{ ID int }{{1}})), pgbulk.Options{}},
		"does not exist":    {pgbulk.Table{Name: pgx.Identifier{"nowhere"}, Columns: []string{"id"}, Key: []string{"id"}}, pgbulk.Slice(nil), pgbulk.Options{}},
		`"b" does not exis`: {pgbulk.Table{Name: table, Columns: []string{"b"}, Key: []string{"b"}}, pgbulk.Slice(nil), pgbulk.Options{}},
	} {
		_, err := pgbulk.Upsert(t.Context(), conn, c.table, c.rows, c.o)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		usable(t, conn)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := pgbulk.Upsert(ctx, conn, pgbulk.Table{Name: table, Columns: []string{"id"}, Key: []string{"id"}}, pgbulk.Slice([][]any{{1}}), pgbulk.Options{})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	usable(t, conn)
}

// TestStringsForAnything has strings that only the server can read.
func TestStringsForAnything(t *testing.T) {
	conn := connect(t)
	const columns = "id int primary key, at timestamptz, n int, b bytea, i interval, l int[]"
	rows := [][]any{
		{"1", "2026-01-02T03:04:05Z", " 12 ", "abc", "1 day 2 hours", "{1,2}"},
		{"2", "epoch", "7", `\x0001`, "3 weeks", nil},
		{3, nil, 8, []byte{0, 1, 2}, nil, []int{5}},
	}
	want := newTable(t, conn, columns)
	for _, r := range rows {
		must(t, conn, "insert into "+want.Sanitize()+" values ($1, $2, $3, $4, $5, $6)", r...)
	}
	for _, s := range strategies {
		for _, write := range []func(context.Context, pgbulk.DB, pgbulk.Table, pgbulk.Rows, pgbulk.Options) (pgbulk.Result, error){pgbulk.Upsert, pgbulk.Insert} {
			table := pgbulk.Table{Name: newTable(t, conn, columns), Columns: []string{"id", "at", "n", "b", "i", "l"}, Key: []string{"id"}}
			if _, err := write(t.Context(), conn, table, pgbulk.Slice(rows), pgbulk.Options{Strategy: s}); err != nil {
				t.Errorf("%s: %v", name(s), err)
				continue
			}
			if got, want := digest(t, conn, table.Name), digest(t, conn, want); got != want {
				t.Errorf("%s: table %s, want %s", name(s), got, want)
			}
		}
	}
}

func seq(n int, row func(i int) []any) iter.Seq[[]any] {
	return func(yield func([]any) bool) {
		for i := range n {
			if !yield(row(i)) {
				return
			}
		}
	}
}
