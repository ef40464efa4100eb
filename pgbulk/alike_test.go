package pgbulk_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"postage/pgbulk"
)

// trial is a table and rows for it, to be written by pgbulk and by plain pgx one by one. In SQL, %s
// stands for the table's name.
type trial struct {
	name         string
	before       string // makes what the table needs
	table        string // its columns, and what follows them
	after        string // what is in it, its triggers and rules
	op           operation
	columns, key []string
	rows         [][]any
	options      settings
}

// call writes the trial's rows with pgbulk.
func (tr *trial) call(ctx context.Context, db pgbulk.DB, table pgx.Identifier, o settings, rows pgbulk.Source) (pgbulk.Result, error) {
	call := map[operation]callFunc{opInsert: insert, opUpsert: upsert, opUpdate: update}[tr.op]
	return call(ctx, db, pgbulk.Table{Name: table, Columns: tr.columns, Key: tr.key}, rows, o)
}

// statement is plain SQL for one row.
func (tr *trial) statement(table pgx.Identifier) string {
	var columns, places, set, where []string
	place := map[string]string{}
	isKey := map[string]bool{}
	for _, k := range tr.key {
		isKey[k] = true
	}
	for i, c := range tr.columns {
		place[c] = fmt.Sprintf("$%d", i+1)
		columns, places = append(columns, quoted(c)), append(places, place[c])
		switch {
		case isKey[c]:
			where = append(where, quoted(c)+" = "+place[c])
		case tr.op == opUpsert:
			set = append(set, quoted(c)+" = excluded."+quoted(c))
		default:
			set = append(set, quoted(c)+" = "+place[c])
		}
	}
	list := strings.Join(columns, ", ")
	insert := "insert into " + table.Sanitize() + " (" + list + ") values (" + strings.Join(places, ", ") + ")"
	switch tr.op {
	case opInsert:
		return insert
	case opUpsert:
		key := make([]string, len(tr.key))
		for i, k := range tr.key {
			key[i] = quoted(k)
		}
		if len(set) == 0 {
			return insert + " on conflict (" + strings.Join(key, ", ") + ") do nothing"
		}
		return insert + " on conflict (" + strings.Join(key, ", ") + ") do update set " + strings.Join(set, ", ")
	}
	return "update " + table.Sanitize() + " set " + strings.Join(set, ", ") + " where " + strings.Join(where, " and ")
}

// plain writes the trial's rows with pgx, one by one, all or none.
func (tr *trial) plain(ctx context.Context, conn *pgx.Conn, table pgx.Identifier) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		for _, row := range tr.rows {
			if tr.op == opUpdate && len(tr.key) == 1 && tr.columns[0] == tr.key[0] {
				// A parameter for a domain is checked even if there is no row to update.
				var there bool
				err := tx.QueryRow(ctx, "select exists (select from "+table.Sanitize()+" where "+quoted(tr.key[0])+" = $1)", pgx.QueryExecModeDescribeExec, row[0]).Scan(&there)
				if err != nil {
					return err
				} else if !there {
					continue
				}
			}
			if _, err := tx.Exec(ctx, tr.statement(table), append([]any{pgx.QueryExecModeDescribeExec}, row...)...); err != nil {
				return err
			}
		}
		return nil
	})
}

func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }

// outcomeOf is how a call went, and what is in the table.
func outcomeOf(t testing.TB, conn *pgx.Conn, table pgx.Identifier, err error) string {
	t.Helper()
	how := "ok"
	if e, ok := pgbulk.AsType[*pgconn.PgError](err); ok {
		how = e.Code
	} else if err != nil {
		how = err.Error()
	}
	return how + ": " + get[string](t, conn, "select count(*) || ' ' || md5(coalesce(string_agg(r::text, ' ' order by r::text), '')) || ' ' || substr(coalesce(string_agg(r::text, ' ' order by r::text), 'nothing'), 1, 200) from "+table.Sanitize()+" r")
}

// run has pgx write the rows, and then pgbulk with each strategy, each into a table of its own.
func (tr *trial) run(t *testing.T, conn *pgx.Conn) {
	fresh := func() pgx.Identifier {
		table := newTable(t, conn, tr.table)
		if tr.after != "" {
			must(t, conn, strings.ReplaceAll(tr.after, "%s", table.Sanitize()), pgx.QueryExecModeSimpleProtocol)
		}
		return table
	}
	if tr.before != "" {
		must(t, conn, tr.before, pgx.QueryExecModeSimpleProtocol)
	}
	theirs := fresh()
	want := outcomeOf(t, conn, theirs, tr.plain(t.Context(), conn, theirs))
	for _, s := range strategies {
		ours, o := fresh(), tr.options
		o.Strategy = s
		_, err := tr.call(t.Context(), conn, ours, o, pgbulk.Slice(tr.rows))
		if got := outcomeOf(t, conn, ours, err); got != want {
			t.Errorf("%s: %v\n%s, plain pgx\n%s", name(s), err, got, want)
		}
	}
}

// TestAlike has every strategy do what an INSERT or UPDATE for each row does.
func TestAlike(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	declared := `<?xml version="1.0" encoding="ISO-8859-1"?><a>é</a>`
	wide := `<?xml version="1.0" encoding="UTF-16"?><a>é</a>`
	kv := []string{"k", "v"}
	for _, tr := range []trial{
		// The client's encoding is what a value is in, whatever it declares.
		{name: "xml", table: "k int primary key, v xml", op: opInsert, columns: kv, rows: [][]any{{1, declared}, {2, []byte(declared)}, {3, nil}, {4, wide}}},
		{name: "xml upsert", table: "k int primary key, v xml", op: opUpsert, columns: kv, key: kv[:1], rows: [][]any{{1, nil}, {2, declared}, {3, wide}}},
		{name: "array of xml", before: domain("xmls", "xml[]"), table: "k int primary key, v xmls", op: opInsert, columns: kv, rows: [][]any{{1, []string{declared, wide}}}},
		{name: "long name", table: "k int primary key, v name", op: opInsert, columns: kv, rows: [][]any{{1, strings.Repeat("é", 40)}, {2, "short"}}},
		{name: "array of long names", before: domain("names", "name[]"), table: "k int primary key, v names", op: opInsert, columns: kv, rows: [][]any{{1, []string{strings.Repeat("é", 40)}}}},

		// A key is compared as it was given, not as the column would hold it.
		{name: "update by numeric", table: "k numeric(12,2) primary key, v int", after: "insert into %s values (1.00, 1), (2.00, 2)", op: opUpdate, key: kv[:1], columns: kv, rows: [][]any{{1.0049, 3}, {2.0, 4}}},
		{name: "update by numeric domain", before: domain("cents", "numeric(12,2)"), table: "k cents primary key, v int", after: "insert into %s values (1.00, 1)", op: opUpdate, key: kv[:1], columns: kv, rows: [][]any{{"1.0049", 3}}},
		{name: "update by timestamp", table: "k timestamp(0) primary key, v int", after: "insert into %s values ('2024-01-01', 1)", op: opUpdate, key: kv[:1], columns: kv, rows: [][]any{{"2024-01-01 00:00:00.3", 3}}},
		{name: "update by varchar", table: "k varchar(3) primary key, v int", after: "insert into %s values ('abc', 1)", op: opUpdate, key: kv[:1], columns: kv, rows: [][]any{{"abc  ", 3}}},

		// What does not fit is refused, not cut.
		{name: "bit", table: "k int primary key, v bit(3)", op: opInsert, columns: kv, rows: [][]any{{1, "101"}, {2, "10101"}}},
		{name: "domain of bit", before: domain("bit3", "bit(3)"), table: "k int primary key, v bit3", op: opInsert, columns: kv, rows: [][]any{{1, "10101"}}},
		{name: "domain of short bit", before: domain("bit3", "bit(3)"), table: "k int primary key, v bit3", op: opUpsert, key: kv[:1], columns: kv, rows: [][]any{{1, "1"}}},
		{name: "domain of varbit", before: domain("varbit3", "varbit(3)"), table: "k int primary key, v varbit3", op: opInsert, columns: kv, rows: [][]any{{1, "10101"}}},
		{name: "domain of an array", before: domain("short3", "varchar(3)[]"), table: "k int primary key, v short3", op: opInsert, columns: kv, rows: [][]any{{1, "{abcde}"}}},
		{name: "domain of a domain", before: domain("bit3", "bit(3)") + domain("flags", "bit3 check (value <> '000')"), table: "k int primary key, v flags", op: opUpsert, key: kv[:1], columns: kv, rows: [][]any{{1, "101"}, {2, "000"}}},
		{name: "rounded", table: "k int primary key, v numeric(4,1), w varchar(3)", op: opUpsert, key: kv[:1], columns: []string{"k", "v", "w"}, rows: [][]any{{1, "1.25", "abc  "}, {2, 7, "ab"}}},

		// Columns that are left out are checked too.
		{name: "NOT NULL domain", before: domain("dnn", "text not null"), table: "k int primary key, v dnn", op: opInsert, columns: kv[:1], rows: [][]any{{1}, {2}}},
		{name: "domain that checks for NULL", before: domain("dck", "text check (value is not null)"), table: "k int primary key, v dck", op: opInsert, columns: kv[:1], rows: [][]any{{1}}},
		{name: "domain with a default", before: domain("ddf", "text not null default 'x'"), table: "k int primary key, v ddf", op: opInsert, columns: kv[:1], rows: [][]any{{1}}},

		// A trigger makes the key: what the rows have for it does not count.
		{name: "key made by a trigger", before: "create sequence if not exists made", table: "k int primary key, v text",
			after: "create or replace function make() returns trigger language plpgsql as $$ begin new.k := nextval('made'); return new; end $$; select setval('made', 1); create trigger t before insert on %s for each row execute function make()",
			op:    opUpsert, key: kv[:1], columns: kv, rows: keyed(300, 0), options: settings{ChunkRows: 100}},
		{name: "rows dropped by a partition's trigger", table: "k int primary key, v text) partition by range (k",
			after: `create or replace function dropped() returns trigger language plpgsql as $$ begin return null; end $$;
				do $$ declare p text := 'p' || nextval('made'); begin execute 'create table ' || p || ' partition of %s for values from (0) to (100)';
				execute 'create trigger t before insert on ' || p || ' for each row execute function dropped()'; end $$`,
			op: opUpsert, key: kv[:1], columns: kv, rows: keyed(300, 0), options: settings{ChunkRows: 100}},
		{name: "rows dropped by a trigger", table: "k int primary key, v text",
			after: "create or replace function dropped() returns trigger language plpgsql as $$ begin return null; end $$; create trigger t before insert on %s for each row execute function dropped()",
			op:    opUpsert, key: kv[:1], columns: kv, rows: keyed(300, 0), options: settings{ChunkRows: 100}},

		// Texts are read as the server reads parameters.
		{name: "regclass by number", table: "k int primary key, v regclass", op: opInsert, columns: kv, rows: [][]any{{1, "1259"}, {2, "pg_class"}, {3, nil}}},
		{name: "domain of regclass", before: domain("relation", "regclass"), table: "k int primary key, v relation", op: opUpdate, key: kv[:1], columns: kv, after: "insert into %s values (1, 'pg_type')", rows: [][]any{{1, "1259"}}},
		{name: "regclass from a number", table: "k int primary key, v regclass", op: opInsert, columns: kv, rows: [][]any{{1, 1259}}},
		{name: "regtype", table: "k int primary key, v regtype[]", op: opUpsert, key: kv[:1], columns: kv, rows: [][]any{{1, "{int4,23}"}}},
	} {
		t.Run(tr.name, func(t *testing.T) { tr.run(t, conn) })
	}
}

// domain makes a domain if it is not there.
func domain(name, definition string) string {
	return "do $$ begin create domain " + name + " as " + definition + "; exception when duplicate_object then end $$; "
}

// keyed are n rows with the same key.
func keyed(n, key int) (rows [][]any) {
	for i := range n {
		rows = append(rows, []any{key, fmt.Sprint("row ", i)})
	}
	return rows
}

// A type that changes between the description of the table and the first row is an error that says
// so, or makes no difference.
func TestAlteredBeforeFirstRow(t *testing.T) {
	conn, other := connect(t), connect(t)
	for _, s := range strategies {
		t.Run(name(s), func(t *testing.T) {
			check := func(table pgx.Identifier, err error) {
				t.Helper()
				n := get[int](t, conn, "select count(*) from "+table.Sanitize()+" where v not in (1, 2)")
				if n > 0 {
					t.Errorf("garbage: %s", outcomeOf(t, conn, table, err))
				}
				if err != nil && !strings.Contains(err.Error(), "altered") {
					t.Errorf("error %v", err)
				}
				if in := get[int](t, conn, "select count(*) from "+table.Sanitize()); err == nil && in != 1 || err != nil && in != 0 {
					t.Errorf("error %v, %d rows", err, in)
				}
				usable(t, conn)
			}
			table := newTable(t, conn, "k int, v float4")
			to := pgbulk.Table{Name: table, Columns: []string{"k", "v"}}
			_, err := insert(t.Context(), conn, to, pgbulk.Values(func(yield func([]any) bool) {
				must(t, other, "alter table "+table.Sanitize()+" alter v type int")
				yield([]any{1, 1.5})
			}), settings{Strategy: s})
			check(table, err)

			// Another table of that name.
			table = newTable(t, conn, "k int, v float4")
			to.Name = table
			_, err = insert(t.Context(), conn, to, pgbulk.Values(func(yield func([]any) bool) {
				must(t, other, "alter table "+table.Sanitize()+" rename to "+quoted(table[0]+"_old")+"; create table "+table.Sanitize()+" (v int, k int)", pgx.QueryExecModeSimpleProtocol)
				yield([]any{1, 1.5})
			}), settings{Strategy: s})
			check(table, err)
		})
	}
}

// Two keys that the key's collation takes for equal are the same key.
func TestUpdateNondeterministic(t *testing.T) {
	conn := connect(t)
	must(t, conn, `create collation if not exists nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)`)
	long := strings.Repeat("x", 2000)
	for _, s := range strategies {
		table := newTable(t, conn, "k text collate nocase primary key, v text")
		must(t, conn, "insert into "+table.Sanitize()+" values ('a', 'old'), ('b', 'old')")
		to := pgbulk.Table{Name: table, Columns: []string{"k", "v"}, Key: []string{"k"}}
		_, err := update(t.Context(), conn, to, pgbulk.Slice([][]any{{"a", "1"}, {"A", "2"}}), settings{Strategy: s})
		if e, ok := pgbulk.AsType[*pgconn.PgError](err); !ok || e.Code != "21000" {
			t.Errorf("%s: error %v, want 21000", name(s), err)
		}
		r, err := update(t.Context(), conn, to, pgbulk.Slice([][]any{{"A", "1"}, {"B", "2"}}), settings{Strategy: s})
		if err != nil || r.Affected != 2 {
			t.Errorf("%s: %+v, %v", name(s), r, err)
		}
		if s != pgbulk.Auto {
			continue
		}
		// Whatever the size of the rows, Auto sees it.
		for _, call := range []callFunc{update, upsert} {
			_, err = call(t.Context(), conn, to, pgbulk.Slice([][]any{{"a", long}, {"b", long}, {"A", long}}), settings{ChunkBytes: 3000})
			if e, ok := pgbulk.AsType[*pgconn.PgError](err); !ok || e.Code != "21000" {
				t.Errorf("large rows: error %v, want 21000", err)
			}
		}
	}
}

// Roles that take turns in one transaction each have a stage of their own.
func TestRolesInOneTransaction(t *testing.T) {
	conn := connect(t)
	must(t, conn, "do $$ begin create role one; create role two; exception when duplicate_object then end $$")
	table := newTable(t, conn, "id int primary key, v text")
	must(t, conn, "grant all on "+table.Sanitize()+" to one, two")
	to := pgbulk.Table{Name: table, Columns: []string{"id", "v"}, Key: []string{"id"}}
	err := pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
		for i, role := range []string{"one", "two", "one", "two"} {
			must(t, conn, "set local role "+role)
			if _, err := upsert(t.Context(), tx, to, pgbulk.Slice([][]any{{1, role}, {i + 10, "x"}}), settings{Strategy: pgbulk.Copy}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestNilSources(t *testing.T) {
	conn := connect(t)
	to := pgbulk.Table{Name: newTable(t, conn, "id int primary key"), Columns: []string{"id"}, Key: []string{"id"}}
	for what, rows := range map[string]pgbulk.Source{"Values": pgbulk.Values(nil), "Structs": pgbulk.Structs[struct{ ID int }](nil), "zero": {}} {
		if _, err := upsert(t.Context(), conn, to, rows, settings{}); err == nil || !strings.Contains(err.Error(), "no source of rows") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// The columns of structs, when they are left out, are the table's that the fields match.
func TestColumnsOfStructs(t *testing.T) {
	conn := connect(t)
	type A struct {
		ID   int `db:"a_id"`
		Note string
	}
	type B struct {
		Other *int `db:"b_id"`
	}
	type inner struct{ Shade string }
	two := 2
	type row struct {
		A
		B
		inner
		CreatedAt string
		UserID    int
		Data      []byte
		Tags      []string
		Skipped   int `db:"-"`
	}
	columns := "a_id int primary key, b_id int, note text, shade text, created_at text, userid int, other int, data bytea, tags text[]"
	rows := []row{{A: A{1, "n"}, B: B{&two}, inner: inner{"red"}, CreatedAt: "today", UserID: 7, Data: []byte{}, Tags: []string{"x", "y"}}, {A: A{ID: 2}}}
	for _, s := range strategies {
		table := newTable(t, conn, columns)
		to := pgbulk.Table{Name: table, Key: []string{"a_id"}}
		var returned []row
		o := settings{Strategy: s, Returning: pgbulk.Return(func(r row) error { returned = append(returned, r); return nil })}
		if _, err := upsert(t.Context(), conn, to, pgbulk.Structs(slices.Values(rows)), o); err != nil {
			t.Errorf("%s: %v", name(s), err)
			continue
		}
		const want = `(1,2,n,red,today,7,,"\\x","{x,y}") (2,,"","","",0,,,)`
		if got := get[string](t, conn, "select string_agg(t::text, ' ' order by a_id) from "+table.Sanitize()+" t"); got != want {
			t.Errorf("%s: %s, want %s", name(s), got, want)
		}
		slices.SortFunc(returned, func(a, b row) int { return a.A.ID - b.A.ID })
		if len(returned) != 2 || *returned[0].Other != 2 || returned[1].Other != nil {
			t.Errorf("returned %+v", returned)
		}
		pointers := []*row{&rows[0], &rows[1]}
		to.Columns = []string{"b_id", "a_id", "created_at"}
		if _, err := upsert(t.Context(), conn, to, pgbulk.Structs(slices.Values(pointers)), settings{Strategy: s}); err != nil {
			t.Errorf("%s: %v", name(s), err)
		}
		if _, err := update(t.Context(), conn, pgbulk.Table{Name: table, Key: []string{"a_id"}}, pgbulk.Structs(slices.Values(rows[:1])), settings{}); err != nil {
			t.Errorf("%s: %v", name(s), err)
		}
	}
	table := newTable(t, conn, "id int primary key")
	type surplus struct{ ID, Nope int }
	_, err := insert(t.Context(), conn, pgbulk.Table{Name: table}, pgbulk.Structs(slices.Values([]surplus{{1, 2}})), settings{})
	if err == nil || !strings.Contains(err.Error(), "field Nope of pgbulk_test.surplus has no column in the table") {
		t.Errorf("error %v", err)
	}
	type embeds struct{ *A }
	_, err = insert(t.Context(), conn, pgbulk.Table{Name: table}, pgbulk.Structs(slices.Values([]embeds{{}})), settings{})
	if err == nil || !strings.Contains(err.Error(), "field A of pgbulk_test.embeds is an embedded pointer") {
		t.Errorf("error %v", err)
	}
}

func TestExecMode(t *testing.T) {
	conn := connect(t)
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeDescribeExec, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeSimpleProtocol} {
		if tag, err := pgbulk.Exec(t.Context(), conn, "select $1::int", mode, 1); err != nil || tag.RowsAffected() != 1 {
			t.Errorf("%v: %v, %v", mode, tag, err)
		}
		if tag, err := pgbulk.Exec(t.Context(), conn, "select @a::int", mode, pgx.NamedArgs{"a": 1}); err != nil || tag.RowsAffected() != 1 {
			t.Errorf("%v, named: %v, %v", mode, tag, err)
		}
	}
}

// An array of xml is text too, though pgx itself has it corrupted unless it is in a domain.
func TestArrayOfXML(t *testing.T) {
	conn := connect(t)
	for _, s := range strategies {
		table := newTable(t, conn, "id int primary key, v xml[]")
		declared := []string{`<?xml version="1.0" encoding="ISO-8859-1"?><a>é</a>`}
		_, err := insert(t.Context(), conn, pgbulk.Table{Name: table, Columns: []string{"id", "v"}}, pgbulk.Slice([][]any{{1, declared}, {2, []string{}}, {3, nil}}), settings{Strategy: s})
		if got := get[string](t, conn, "select string_agg(v::text, ' ' order by id) from "+table.Sanitize()); err != nil || got != "{<a>é</a>} {}" {
			t.Errorf("%s: %s, %v", name(s), got, err)
		}
	}
}
