package pgbulk_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"postage/pgbulk"
)

// content is a table's rows as text.
func content(t testing.TB, conn *pgx.Conn, table pgx.Identifier, order string) string {
	t.Helper()
	return get[string](t, conn, "select coalesce(string_agg(r::text, ' ' order by "+order+"), '') from "+table.Sanitize()+" r")
}

// TestConflictControl goes through each way to say what a conflict is and what becomes of it.
func TestConflictControl(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	for _, c := range []struct {
		name    string
		columns string // of the table; the first row is there already
		index   string // on TABLE
		table   pgbulk.Table
		o       settings
		there   string
		rows    [][]any
		want    string
		count   int64
	}{
		{
			name: "counter", columns: "id int primary key, n int, note text default 'none'",
			table: pgbulk.Table{Columns: []string{"id", "n"}, Key: []string{"id"}},
			o:     settings{SetTo: map[string]pgbulk.SQL{"n": "t.n + excluded.n", "note": "'counted ' || t.note"}},
			there: "(1, 10, 'x')", rows: [][]any{{1, 5}, {2, 7}}, want: `(1,15,"counted x") (2,7,none)`, count: 2,
		},
		{
			name: "some exist", columns: "id int primary key, a text, b text",
			table: pgbulk.Table{Columns: []string{"id", "a", "b"}, Key: []string{"id"}},
			there: "(1, 'a', 'b'), (2, 'c', null)", rows: [][]any{{2, "d", "e"}, {3, "f", ""}}, want: `(1,a,b) (2,d,e) (3,f,"")`, count: 2,
		},
		{
			name: "skipped", columns: "id int primary key, a text",
			table: pgbulk.Table{Columns: []string{"id", "a"}, Key: []string{"id"}},
			o:     settings{SkipExisting: true},
			there: "(1, 'a')", rows: [][]any{{1, "x"}, {2, "g"}}, want: "(1,a) (2,g)", count: 1,
		},
		{
			name: "one column set", columns: "id int primary key, a text, b text",
			table: pgbulk.Table{Columns: []string{"id", "a", "b"}, Key: []string{"id"}},
			o:     settings{Set: []string{"b"}},
			there: "(1, 'a', 'b')", rows: [][]any{{1, "x", "y"}}, want: "(1,a,y)", count: 1,
		},
		{
			name: "no rows", columns: "id int primary key",
			table: pgbulk.Table{Columns: []string{"id"}, Key: []string{"id"}},
			there: "(1)", want: "(1)",
		},
		{
			name: "newer only", columns: "id int primary key, version int, a text",
			table: pgbulk.Table{Columns: []string{"id", "version", "a"}, Key: []string{"id"}},
			o:     settings{Where: "t.version < excluded.version"},
			there: "(1, 5, 'old'), (2, 5, 'old')", rows: [][]any{{1, 4, "new"}, {2, 6, "new"}, {3, 1, "new"}}, want: "(1,5,old) (2,6,new) (3,1,new)", count: 2,
		},
		{
			name: "constraint", columns: `id int, a text, n int, constraint "The One" unique (id, a)`,
			table: pgbulk.Table{Columns: []string{"n", "a", "id"}, Key: []string{"id", "a"}, Conflict: `on constraint "The One"`},
			there: "(1, 'x', 1)", rows: [][]any{{2, "x", 1}, {3, "y", 1}}, want: "(1,x,2) (1,y,3)", count: 2,
		},
		{
			name: "partial index", columns: "id int, live bool, n int", index: "(id) where live",
			table: pgbulk.Table{Columns: []string{"id", "live", "n"}, Key: []string{"id"}, Conflict: "(id) where live"},
			there: "(1, true, 1), (1, false, 2)", rows: [][]any{{1, true, 3}, {1, false, 4}}, want: "(1,f,2) (1,f,4) (1,t,3)", count: 2,
		},
		{
			name: "expression", columns: "email text, tenant int, n int", index: "(lower(email), tenant)",
			table: pgbulk.Table{Columns: []string{"email", "tenant", "n"}, Conflict: "(lower(email), tenant)"},
			o:     settings{Set: []string{"n"}},
			there: "('Ada', 1, 1)", rows: [][]any{{"aDA", 1, 2}, {"ada", 2, 3}}, want: "(Ada,1,2) (ada,2,3)", count: 2,
		},
		{
			name: "expression, nothing", columns: "email text, n int", index: "(lower(email))",
			table: pgbulk.Table{Columns: []string{"email", "n"}, Conflict: "(lower(email))"},
			o:     settings{SkipExisting: true},
			there: "('Ada', 1)", rows: [][]any{{"aDA", 2}, {"bob", 3}}, want: "(Ada,1) (bob,3)", count: 1,
		},
		{
			name: "exclusion constraint", columns: "during int4range, n int, constraint free exclude using gist (during with &&)",
			table: pgbulk.Table{Columns: []string{"during", "n"}, Conflict: "on constraint free"},
			o:     settings{SkipExisting: true},
			there: "('[1,5)', 1)", rows: [][]any{{"[4,8)", 2}, {"[5,8)", 3}}, want: `("[1,5)",1) ("[5,8)",3)`, count: 1,
		},
		{
			name: "updated where changed", columns: "id int primary key, n int, updated int default 1",
			table: pgbulk.Table{Columns: []string{"id", "n"}, Key: []string{"id"}},
			o:     settings{SkipUnchanged: true, SetTo: map[string]pgbulk.SQL{"updated": "t.updated + 1"}},
			there: "(1, 5, 1), (2, 5, 1)", rows: [][]any{{1, 5}, {2, 6}, {3, 7}}, want: "(1,5,1) (2,6,2) (3,7,1)", count: 2,
		},
		{
			name: "identity", columns: "id int generated always as identity primary key, n int",
			table: pgbulk.Table{Columns: []string{"id", "n"}, Key: []string{"id"}},
			o:     settings{OverridingSystem: true},
			rows:  [][]any{{7, 1}, {9, 2}}, want: "(7,1) (9,2)", count: 2,
		},
	} {
		for _, s := range strategies {
			t.Run(c.name+"/"+name(s), func(t *testing.T) {
				c.table.Name = newTable(t, conn, c.columns)
				if c.index != "" {
					must(t, conn, "create unique index on "+c.table.Name.Sanitize()+" "+c.index)
				}
				if c.there != "" {
					must(t, conn, "insert into "+c.table.Name.Sanitize()+" values "+c.there)
				}
				c.o.Strategy = s
				r, err := upsert(t.Context(), conn, c.table, pgbulk.Slice(c.rows), c.o)
				if err != nil {
					t.Fatal(err)
				}
				if got := content(t, conn, c.table.Name, `r::text collate "C"`); got != c.want || r.Affected != c.count {
					t.Errorf("%d affected, table %s; want %d, %s", r.Affected, got, c.count, c.want)
				}
			})
		}
	}
}

// TestIdentityIsRefused: without OverridingSystem a value for such a column is the server's error
// in an upsert.
func TestIdentityIsRefused(t *testing.T) {
	conn := connect(t)
	for _, s := range strategies {
		table := pgbulk.Table{Name: newTable(t, conn, "id int generated always as identity primary key"), Columns: []string{"id"}, Key: []string{"id"}}
		_, err := upsert(t.Context(), conn, table, pgbulk.Slice([][]any{{1}}), settings{Strategy: s})
		if e, ok := pgbulk.AsType[*pgconn.PgError](err); !ok || e.Code != "428C9" {
			t.Errorf("%s: %v", name(s), err)
		}
	}
}

// TestExpressionTwice: only the server can evaluate an expression, so Auto leaves many rows to one
// statement.
func TestExpressionTwice(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	rows := make([][]any, 3000)
	for i := range rows {
		rows[i] = []any{fmt.Sprint("key", i), strings.Repeat("x", 900)}
	}
	rows[2900] = []any{"KEY17", "again"}
	table := pgbulk.Table{Name: newTable(t, conn, "email text, a text"), Columns: []string{"email", "a"}, Conflict: "(lower(email))"}
	must(t, conn, "create unique index on "+table.Name.Sanitize()+" (lower(email))")
	r, err := upsert(t.Context(), conn, table, pgbulk.Slice(rows), settings{})
	if e, ok := pgbulk.AsType[*pgconn.PgError](err); !ok || e.Code != "21000" || r.Strategy != pgbulk.Copy {
		t.Errorf("strategy %q, error %v", r.Strategy, err)
	}
	usable(t, conn)
}

// TestConflictRefusals are settings that are refused before a connection is asked for: there is
// none.
func TestConflictRefusals(t *testing.T) {
	table := pgbulk.Table{Name: pgx.Identifier{"t"}, Columns: []string{"id", "a"}, Key: []string{"id"}}
	keyless := pgbulk.Table{Name: pgx.Identifier{"t"}, Columns: []string{"id", "a"}}
	keys := pgbulk.Table{Name: pgx.Identifier{"t"}, Columns: []string{"id"}, Key: []string{"id"}}
	set := map[string]pgbulk.SQL{"a": "t.a"}
	for _, c := range []struct {
		op    operation
		table pgbulk.Table
		o     settings
		want  string
	}{
		{opUpsert, keyless, settings{}, "no key columns"},
		{opUpdate, keyless, settings{}, "no key columns"},
		{opUpdate, keys, settings{}, "no columns to set"},
		{opUpdate, table, settings{SetTo: map[string]pgbulk.SQL{"id": "t.id + 1"}}, "of the key"},
		{opUpsert, table, settings{SkipUnchanged: true, Set: []string{}, SetTo: set}, "Set is empty"},
		{opUpsert, table, settings{Set: []string{"a"}, SetTo: set}, "in Set and in SetTo"},
		{opUpsert, table, settings{Set: []string{"a", "a"}}, "set twice"},
		{opUpsert, table, settings{SetTo: map[string]pgbulk.SQL{"a": " "}}, "in SetTo is empty"},
	} {
		_, err := c.op.call(t.Context(), nil, c.table, pgbulk.Slice([][]any{{1, "x"}}), c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
}
