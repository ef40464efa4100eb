package pgbulk_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"postage/pgbulk"
)

// TestErrorPosition has one wrong row in the middle of many, and expects its number and column. Where
// a row is refused that could be read, COPY straight into the table names it, and Bind and Unnest name
// the rows of the statement; so does Unnest where the server could not read a value.
func TestErrorPosition(t *testing.T) {
	t.Parallel()
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
		what    string
		row     []any
		code    string
		column  string
		first   int
		refused bool
	}{
		{"check", []any{wrong, "bad", 1}, "23514", "", -1, true},
		{"not null", []any{wrong, nil, 1}, "23502", "a", -1, true},
		{"unique", []any{wrong, "taken", 1}, "23505", "", -1, true},
		{"trigger", []any{wrong, "trigger", 1}, "P0001", "", -1, true},
		{"trigger's own statement", []any{wrong, "audit", 1}, "23514", "", -1, true}, // its parameters are not ours
		{"utf-8", []any{wrong, "a\xffb", 1}, "22021", "a", -1, false},
		{"zero byte", []any{wrong, "a\x00b", 1}, "22021", "a", -1, false},
		{"duplicate", []any{17, "x", 1}, "21000", "", 17, false},
		{"go type", []any{wrong, "x", struct{}{}}, "", "b", -1, false},
		{"go range", []any{wrong, "x", int64(1) << 40}, "", "b", -1, false},
		{"too few", []any{wrong, "x"}, "", "", -1, false},
	} {
		for _, s := range strategies {
			for _, inserts := range []bool{false, true} {
				if inserts && (c.what == "duplicate") {
					continue
				}
				t.Run(c.what+"/"+name(s)+map[bool]string{true: "/insert"}[inserts], func(t *testing.T) {
					table := pgbulk.Table{Name: newTable(t, conn, "id int primary key, a text not null unique check (a <> 'bad'), b int"), Columns: []string{"id", "a", "b"}, Key: []string{"id"}}
					must(t, conn, "insert into "+table.Name.Sanitize()+" values (-1, 'taken', 0)")
					must(t, conn, "create trigger refuse before insert on "+table.Name.Sanitize()+" for each row execute function refuse()")
					rows := make([][]any, n)
					for i := range rows {
						rows[i] = []any{i, "row " + string(rune('a'+i%26)) + strings.Repeat("y", i), i}
					}
					rows[wrong] = c.row
					before := digest(t, conn, table.Name)
					call := upsert
					if inserts {
						call = insert
					}
					r, err := call(t.Context(), conn, table, pgbulk.Slice(rows), settings{Strategy: s})
					var e *pgbulk.Error
					if !errors.As(err, &e) {
						t.Fatalf("error %v", err)
					}
					first, last := wrong, wrong
					switch {
					case c.refused && r.Strategy == pgbulk.Copy && !inserts:
						first, last = -1, -1
					case c.refused && r.Strategy != pgbulk.Copy, c.code == "22021" && r.Strategy == pgbulk.Unnest:
						first, last = 0, n-1
					}
					t.Log(err)
					var pgErr *pgconn.PgError
					if errors.As(err, &pgErr); c.code != "" && (pgErr == nil || pgErr.Code != c.code) {
						t.Errorf("error %v, want code %s", err, c.code)
					}
					if e.Row != first || e.LastRow != last || e.Column != c.column || e.FirstRow != c.first || e.Closed || e.Uncertain {
						t.Errorf("%+v, want rows %d to %d, column %q, first row %d", *e, first, last, c.column, c.first)
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

// TestErrorOfNoRow has errors that no row causes.
func TestErrorOfNoRow(t *testing.T) {
	conn := connect(t)
	rows := pgbulk.Values(seq(100, func(i int) []any { return []any{i, "x"} }))
	for _, s := range strategies {
		table := pgbulk.Table{Name: newTable(t, conn, "id int, a text"), Columns: []string{"id", "a"}, Key: []string{"id"}}
		_, err := upsert(t.Context(), conn, table, rows, settings{Strategy: s})
		var e *pgbulk.Error
		var pgErr *pgconn.PgError
		if !errors.As(err, &e) || !errors.As(err, &pgErr) || pgErr.Code != "42P10" || e.Row != -1 || e.LastRow != -1 {
			t.Errorf("%s: without a unique index: %v", name(s), err)
		}
		usable(t, conn)
	}
}

// TestInnocentRow ends calls on their way: the row that the server was at is not at fault.
func TestInnocentRow(t *testing.T) {
	conn, other := connect(t), connect(t)
	table := pgbulk.Table{Name: newTable(t, conn, "id int primary key, a text"), Columns: []string{"id", "a"}, Key: []string{"id"}}
	for _, s := range []pgbulk.Strategy{pgbulk.Auto, pgbulk.Copy} {
		for code, function := range map[string]string{"57014": "pg_cancel_backend", "57P01": "pg_terminate_backend"} {
			if conn.IsClosed() {
				conn = connect(t)
			}
			_, err := insert(t.Context(), conn, table, pgbulk.Values(func(yield func([]any) bool) {
				for i := 0; yield([]any{i, "x"}); i++ {
					if i == 100_000 {
						must(t, other, "select "+function+"($1)", conn.PgConn().PID())
					}
				}
			}), settings{Strategy: s})
			e, ok := pgbulk.AsType[*pgbulk.Error](err)
			pgErr, coded := pgbulk.AsType[*pgconn.PgError](err)
			if !ok || !coded || pgErr.Code != code || e.Row != -1 || e.LastRow != -1 {
				t.Errorf("%s: %v, want %s and no row", name(s), err, code)
			}
		}
	}
}

// TestGeneratedColumn writes to a column that is GENERATED ALWAYS: the server names another one, so
// that the error has it in its message alone.
func TestGeneratedColumn(t *testing.T) {
	conn := connect(t)
	table := pgbulk.Table{Name: newTable(t, conn, "id int generated always as identity primary key, b int generated always as (1) stored"), Columns: []string{"id", "b"}, Key: []string{"id"}}
	for _, call := range []operation{opInsert, opUpdate} {
		_, err := call.call(t.Context(), conn, table, pgbulk.Slice([][]any{{1, 2}}), settings{OverridingSystem: call == opInsert})
		if e, ok := pgbulk.AsType[*pgbulk.Error](err); !ok || e.Column != "" || !strings.Contains(err.Error(), `column "b"`) {
			t.Errorf("%v: %v", call, err)
		}
	}
}

// TestRenamedType renames types under a domain, after a call has learnt their names.
func TestRenamedType(t *testing.T) {
	conn, other := connect(t), connect(t)
	must(t, other, "create type mood as enum ('a', 'b'); create domain moods as mood; create domain some_moods as moods", pgx.QueryExecModeSimpleProtocol)
	defer must(t, other, "drop type if exists mood, humour cascade", pgx.QueryExecModeSimpleProtocol)
	table := pgbulk.Table{Name: newTable(t, conn, "id int primary key, a moods, b some_moods"), Columns: []string{"id", "a", "b"}, Key: []string{"id"}}
	for _, what := range []string{"before", "after"} {
		for _, s := range strategies {
			if _, err := upsert(t.Context(), conn, table, pgbulk.Slice([][]any{{1, "a", "b"}}), settings{Strategy: s}); err != nil {
				t.Errorf("%s, %s: %v", what, name(s), err)
			}
		}
		if what == "before" {
			must(t, other, "alter type mood rename to humour")
		}
	}
}

// TestErrorPositionInContext has the server list all parameters with its errors, none of which is
// the cause.
func TestErrorPositionInContext(t *testing.T) {
	conn := connect(t)
	must(t, conn, "set log_parameter_max_length_on_error = 100")
	table := pgbulk.Table{Name: newTable(t, conn, "id int primary key, a text check (a <> 'bad')"), Columns: []string{"id", "a"}, Key: []string{"id"}}
	rows := pgbulk.Values(seq(100, func(i int) []any { return []any{i, map[bool]string{true: "bad", false: "good"}[i == 57]} }))
	for _, s := range strategies {
		_, err := upsert(t.Context(), conn, table, rows, settings{Strategy: s})
		var e *pgbulk.Error
		if !errors.As(err, &e) || codeOf(err) != "23514" || e.Row > 0 || e.Column != "" {
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
	_, err := upsert(t.Context(), conn, table, rows, settings{Strategy: pgbulk.Bind, ChunkRows: 10})
	var e *pgbulk.Error
	if !errors.As(err, &e) || e.Row != 50 || e.LastRow != 50 || e.Column != "a" {
		t.Errorf("error %v, want row 50, column a", err)
	}
}

// madValuer is a driver.Valuer that panics.
type madValuer struct{}

func TestPanickingValue(t *testing.T) {
	conn := connect(t)
	table := pgbulk.Table{Name: newTable(t, conn, "id int primary key, n int"), Columns: []string{"id", "n"}, Key: []string{"id"}}
	for _, s := range strategies {
		_, err := upsert(t.Context(), conn, table, pgbulk.Slice([][]any{{1, 1}, {2, madValuer{}}}), settings{Strategy: s})
		var e *pgbulk.Error
		if !errors.As(err, &e) || e.Row != 1 || e.Column != "n" || !strings.Contains(err.Error(), "the value is mad") {
			t.Errorf("%s: %v", name(s), err)
		}
		usable(t, conn)
	}
}

// TestNullKeys has keys with a NULL: they are never the same, unless the index says NULLS NOT
// DISTINCT.
func TestNullKeys(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	rows := func(last ...any) pgbulk.Source {
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
	const distinct = "unique (id, a)"
	for _, c := range []struct {
		what, indexes string
		rows          pgbulk.Source
		first, second int // -1 if there is no error
	}{
		{"all different", distinct, rows("x", 50, 1), -1, -1},
		{"another key twice", distinct, rows("x", 7, 1), 7, 50},
		{"nulls alike in other columns", distinct + ", unique nulls not distinct (id, b, a)", pgbulk.Values(seq(60, func(i int) []any { return []any{fmt.Sprint(i), nil, 1} })), -1, -1},
	} {
		if c.indexes != distinct && get[int](t, conn, "select current_setting('server_version_num')::int") < 150000 {
			continue
		}
		for _, s := range strategies {
			for _, chunkRows := range []int{0, 10} { // in the same statement, and in another
				table := pgbulk.Table{Name: newTable(t, conn, "b text, id int, a int, "+c.indexes), Columns: []string{"b", "id", "a"}, Key: []string{"id", "a"}}
				_, err := upsert(t.Context(), conn, table, c.rows, settings{Strategy: s, ChunkRows: chunkRows})
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

func TestRefused(t *testing.T) {
	conn := connect(t)
	table := newTable(t, conn, "id int primary key, a text")
	for want, c := range map[string]struct {
		table pgbulk.Table
		rows  pgbulk.Source
		o     settings
	}{
		"no table name":     {pgbulk.Table{Columns: []string{"id"}, Key: []string{"id"}}, pgbulk.Slice(nil), settings{}},
		"no columns":        {pgbulk.Table{Name: table, Key: []string{"id"}}, pgbulk.Slice(nil), settings{}},
		"no key":            {pgbulk.Table{Name: table, Columns: []string{"id"}}, pgbulk.Slice(nil), settings{}},
		"named twice":       {pgbulk.Table{Name: table, Columns: []string{"id", "id"}, Key: []string{"id"}}, pgbulk.Slice(nil), settings{}},
		"not among":         {pgbulk.Table{Name: table, Columns: []string{"a"}, Key: []string{"id"}}, pgbulk.Slice(nil), settings{}},
		"unknown strategy":  {pgbulk.Table{Name: table, Columns: []string{"id"}, Key: []string{"id"}}, pgbulk.Slice(nil), settings{Strategy: "x"}},
		"no source":         {pgbulk.Table{Name: table, Columns: []string{"id"}, Key: []string{"id"}}, pgbulk.Source{}, settings{}},
		"not structs":       {pgbulk.Table{Name: table, Columns: []string{"id"}, Key: []string{"id"}}, pgbulk.Structs(slices.Values([]int{1})), settings{}},
		"has no field":      {pgbulk.Table{Name: table, Columns: []string{"id", "a"}, Key: []string{"id"}}, pgbulk.Structs(slices.Values([]struct{ ID int }{{1}})), settings{}},
		"does not exist":    {pgbulk.Table{Name: pgx.Identifier{"nowhere"}, Columns: []string{"id"}, Key: []string{"id"}}, pgbulk.Slice(nil), settings{}},
		`"b" does not exis`: {pgbulk.Table{Name: table, Columns: []string{"b"}, Key: []string{"b"}}, pgbulk.Slice(nil), settings{}},
	} {
		_, err := upsert(t.Context(), conn, c.table, c.rows, c.o)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		usable(t, conn)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := upsert(ctx, conn, pgbulk.Table{Name: table, Columns: []string{"id"}, Key: []string{"id"}}, pgbulk.Slice([][]any{{1}}), settings{})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	usable(t, conn)
}
