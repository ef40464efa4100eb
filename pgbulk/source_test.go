package pgbulk_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"postage/pgbulk"
)

// TestFrom copies a query's rows, which come over another connection, and what a function gives.
func TestFrom(t *testing.T) {
	conn, other := connect(t), connect(t)
	table := pgbulk.Table{Name: newTable(t, conn, "id int primary key, a text"), Columns: []string{"id", "a"}, Key: []string{"id"}}
	for _, s := range strategies {
		rows, err := other.Query(t.Context(), "select i, 'row' || i from generate_series(1, 100) as i")
		if err != nil {
			t.Fatal(err)
		}
		r, err := pgbulk.Upsert(t.Context(), conn, table, pgbulk.From(rows), pgbulk.UpsertOptions{Strategy: s})
		if err != nil || r.Rows != 100 || r.Affected != 100 {
			t.Errorf("%s: %+v, %v", name(s), r, err)
		}
		dry := errors.New("dry")
		for _, fails := range []bool{false, true} { // when the next row is asked for, or in the middle
			n := 0
			_, err = pgbulk.Upsert(t.Context(), conn, table, pgbulk.From(pgx.CopyFromFunc(func() ([]any, error) {
				if n++; n > 5 && fails {
					return nil, dry
				} else if n > 5 {
					return nil, nil
				}
				return []any{-n, "x"}, nil
			})), pgbulk.UpsertOptions{Strategy: s})
			if got := get[int](t, conn, "with gone as (delete from "+table.Name.Sanitize()+" where id < 0 returning 1) select count(*) from gone"); fails != errors.Is(err, dry) || fails == (got == 5) {
				t.Errorf("%s, fails %v: %d rows, %v", name(s), fails, got, err)
			}
		}
	}
}

// TestSourceSpent makes a call again whose source a failed call has taken rows of.
func TestSourceSpent(t *testing.T) {
	conn, other := connect(t), connect(t)
	const n, fails = 5000, 4000
	query := fmt.Sprintf("select i, 'row' || i from generate_series(1, %d) as i", n)
	spent := func(s pgbulk.Strategy, what string, source func() pgbulk.Source, again bool) {
		table := pgbulk.Table{Name: newTable(t, conn, "id int primary key, a text"), Columns: []string{"id", "a"}, Key: []string{"id"}}
		must(t, conn, fmt.Sprintf(`create sequence %[1]s_fired owned by %[1]s.id;
			create function pg_temp.%[1]s_once() returns trigger language plpgsql as $$ begin
				if nextval('%[1]s_fired') = %[2]d then raise exception 'once' using errcode = '40001'; end if;
				return new;
			end $$;
			create trigger once before insert on %[1]s for each row execute function pg_temp.%[1]s_once()`, table.Name[0], fails), pgx.QueryExecModeSimpleProtocol)
		rows := source()
		if _, err := pgbulk.Upsert(t.Context(), conn, table, rows, pgbulk.UpsertOptions{Strategy: s}); err == nil {
			t.Fatalf("%s, %s: no error", what, name(s))
		}
		r, err := pgbulk.Upsert(t.Context(), conn, table, rows, pgbulk.UpsertOptions{Strategy: s})
		if again && (err != nil || r.Rows != n) || !again && (err == nil || !strings.Contains(err.Error(), "spent")) {
			t.Errorf("%s, %s, again: %+v, %v", what, name(s), r, err)
		}
		if again {
			return
		}
		if r, err = pgbulk.Upsert(t.Context(), conn, table, source(), pgbulk.UpsertOptions{Strategy: s}); err != nil || r.Affected != n {
			t.Errorf("%s, %s, anew: %+v, %v", what, name(s), r, err)
		}
	}
	for _, s := range strategies {
		spent(s, "a query's rows", func() pgbulk.Source {
			rows, err := other.Query(t.Context(), query)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(rows.Close)
			return pgbulk.From(rows)
		}, false)
		spent(s, "a channel's rows", func() pgbulk.Source {
			rows := make(chan []any, n)
			for i := range n {
				rows <- []any{i, "x"}
			}
			close(rows)
			return pgbulk.Values(func(yield func([]any) bool) {
				for row := range rows {
					if !yield(row) {
						for range rows { // as a source that ends with its consumer
						}
						return
					}
				}
			})
		}, false)
		spent(s, "an iterator", func() pgbulk.Source { return pgbulk.Values(seq(n, func(i int) []any { return []any{i, "x"} })) }, true)
	}
}

// TestFromKeepsValues copies values that decoding would change from one table to another like it.
func TestFromKeepsValues(t *testing.T) {
	conn, other := connect(t), connect(t)
	columns := []string{"id", "j", "b", "n", "a", "x", "v", "at"}
	definition := "id int primary key, j json, b jsonb, n numeric, a int[], x bytea, v varchar(20), at timestamptz"
	from := newTable(t, conn, definition)
	must(t, conn, "insert into "+from.Sanitize()+` values
		(1, '"5"', '"5"', 1.500, '[3:4]={1,2}', '\x0001', '', 'infinity'),
		(2, 'null', 'null', 'NaN', '{{1,2},{3,4}}', '', 'words', '2020-02-02 20:20:20.202020+00'),
		(3, '{"a": 1, "a" : 2}', '12345678901234567890123', 12345678901234567890123456789.10, '{}', null, null, '-infinity'),
		(4, null, null, null, null, null, null, null)`)
	for _, s := range strategies {
		for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
			to := pgbulk.Table{Name: newTable(t, conn, definition), Columns: columns, Key: []string{"id"}}
			rows, err := other.Query(t.Context(), "select * from "+from.Sanitize()+" order by id", mode)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := pgbulk.Upsert(t.Context(), conn, to, pgbulk.From(rows), pgbulk.UpsertOptions{Strategy: s}); err != nil {
				t.Fatalf("%s, %v: %v", name(s), mode, err)
			}
			if got, want := content(t, conn, to.Name, "id"), content(t, conn, from, "id"); got != want {
				t.Errorf("%s, %v: table %s, want %s", name(s), mode, got, want)
			}
		}
	}
}
