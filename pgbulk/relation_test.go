package pgbulk_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"postage/pgbulk"
	"postage/pgbulk/pgtest"
)

// newRole makes a role and has the test's connection act as it until the test ends.
func newRole(t testing.TB, conn *pgx.Conn) string {
	t.Helper()
	role := fmt.Sprintf("r%d", rand.Uint64())
	must(t, conn, "create role "+role)
	t.Cleanup(func() {
		c, err := pgx.Connect(context.Background(), server.DSN(pgtest.Unix))
		if err != nil {
			return
		}
		defer c.Close(context.Background())
		c.Exec(context.Background(), "drop owned by "+role+" cascade")
		c.Exec(context.Background(), "drop role "+role)
	})
	return role
}

// TestRights has a role that may do just what plain statements need: what it can do with few rows
// it can do with many.
func TestRights(t *testing.T) {
	conn := connect(t)
	role := newRole(t, conn)
	must(t, conn, "create domain private as int; create type kept as enum ('x')", pgx.QueryExecModeSimpleProtocol)
	defer must(t, conn, "drop domain private cascade; drop type kept cascade", pgx.QueryExecModeSimpleProtocol)
	for _, c := range []struct{ what, setup string }{
		{"columns", "grant insert (id, a, k), update (a, k), select (id, a, k) on T to R"},
		{"insert alone", "grant insert on T to R"},
		{"insert columns alone", "grant insert (id, a, k) on T to R"},
		{"no temporary tables", "grant insert, update, select on T to R; revoke temp on database postgres from public"},
		{"no use of a type", "grant insert, update, select on T to R; revoke usage on type kept from public"},
		{"use of a domain", "grant insert, update, select on T to R; revoke usage on type private from public"},
	} {
		insertOnly := strings.HasPrefix(c.what, "insert")
		for _, n := range []int{10, 2000} { // in one statement, and in many
			for _, s := range strategies {
				table := pgbulk.Table{Name: newTable(t, conn, "id int primary key, a private, k kept, secret text"), Columns: []string{"id", "a", "k"}, Key: []string{"id"}}
				must(t, conn, strings.NewReplacer("T", table.Name.Sanitize(), "R", role).Replace(c.setup))
				must(t, conn, "set role "+role)
				rows := pgbulk.Values(seq(n, func(i int) []any { return []any{i, i, "x"} }))
				_, err := insert(t.Context(), conn, table, rows, settings{Strategy: s, ChunkRows: 200})
				if err != nil {
					t.Errorf("%s: insert %d rows, %s: %v", c.what, n, name(s), err)
				}
				if !insertOnly {
					_, err = upsert(t.Context(), conn, table, rows, settings{Strategy: s, ChunkRows: 200})
					if refused := s == pgbulk.Copy && strings.HasPrefix(c.what, "no "); (err != nil) != refused {
						t.Errorf("%s: upsert %d rows, %s: %v", c.what, n, name(s), err)
					}
				}
				must(t, conn, "reset role; grant temp on database postgres to public; grant usage on type private, kept to public")
			}
		}
	}
}

func codeOf(err error) string {
	if e, ok := pgbulk.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// TestRelations writes to whatever takes plain INSERTs, by every call and strategy, and to the same
// by pgx: what comes to be in it, or the error, must be the same. In the statements T is the table,
// and S its schema.
func TestRelations(t *testing.T) {
	// Each case has a table of its own by the same name: nothing that an earlier one taught is kept.
	config := connect(t).Config()
	config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	role := newRole(t, conn)
	var database string
	if err := conn.QueryRow(t.Context(), "select current_database()").Scan(&database); err != nil {
		t.Fatal(err)
	}
	config = conn.Config()
	must(t, conn, `create extension if not exists postgres_fdw; drop server if exists loop cascade;
		create server loop foreign data wrapper postgres_fdw options (host '`+config.Host+`', port '`+fmt.Sprint(config.Port)+`', dbname '`+database+`');
		create user mapping for current_user server loop options (user '`+config.User+`', password_required 'false')`)
	defer must(t, conn, "drop server loop cascade")
	for _, c := range []struct {
		what, setup string
		as          bool // as an unprivileged role
		upsert      bool // INSERT ... ON CONFLICT is possible
		copies      bool // COPY straight into it does the same
		read        string
	}{
		{"table", "create table T (id int primary key, a text)", false, true, true, "T"},
		{"view", "create table T_base (id int primary key, a text); create view T as select id, a from T_base", false, true, false, "T_base"},
		{"view with a trigger", `create table T_base (id int primary key, a text); create view T as select id, 'x' || a as a from T_base;
			create function T_put() returns trigger language plpgsql as $$ begin insert into T_base values (new.id, new.a || '!'); return new; end $$;
			create trigger put instead of insert on T for each row execute function T_put()`, false, false, false, "T_base"},
		{"view with check option", "create table T_base (id int primary key, a text); create view T as select id, a from T_base where id < 2 with check option", false, true, false, "T_base"},
		{"row-level security", `create table T (id int primary key, a text); alter table T enable row level security;
			create policy p on T using (true) with check (id < 100); grant all on T to ` + role, true, true, false, "T"},
		{"row-level security that refuses", `create table T (id int primary key, a text); alter table T enable row level security;
			create policy p on T using (true) with check (id < 2); grant all on T to ` + role, true, true, false, "T"},
		{"identity always", "create table T (id int primary key, a int generated always as identity)", false, true, false, "T"},
		{"types of a length", "create table T (id int primary key, a bit(3))", false, true, false, "T"},
		{"another column's type has no binary input", "create table T (id int primary key, a text, rights aclitem)", false, true, false, "T"},
		{"a dropped column's type has no binary input", "create table T (id int primary key, a text, rights aclitem); alter table T drop rights", false, true, true, "T"},
		{"identity by default", "create table T (id int primary key, a int generated by default as identity)", false, true, true, "T"},
		{"generated column", "create table T (id int primary key, a int generated always as (id + 1) stored)", false, true, true, "T"},
		{"rule", "create table T (id int primary key, a text); create rule r as on insert to T do instead nothing", false, false, false, "T"},
		{"partitioned", `create table T (id int primary key, a text) partition by range (id);
			create table T_1 partition of T for values from (0) to (2); create table T_2 partition of T for values from (2) to (100)`, false, true, true, "T"},
		{"partitioned, no partition", `create table T (id int primary key, a text) partition by range (id);
			create table T_1 partition of T for values from (0) to (2)`, false, true, true, "T"},
		{"foreign", `create table T_far (id int primary key, a text); create foreign table T (id int, a text) server loop options (schema_name 'S', table_name 'T_far')`, false, false, true, "T_far"},
		{"foreign partition", `create table T (id int, a text) partition by range (id); create table T_far (id int primary key, a text);
			create foreign table T_1 partition of T for values from (0) to (100) server loop options (schema_name 'S', table_name 'T_far')`, false, false, true, "T_far"},
	} {
		rows := [][]any{{1, "1"}, {2, "2"}, {3, nil}}
		for i := range 30 { // as many as Auto copies
			rows = append(rows, []any{i + 10, "1"})
		}
		if c.what == "types of a length" {
			rows = [][]any{{1, "101"}, {2, "1011"}}
		}
		for _, upserts := range []bool{false, true} {
			if upserts && !c.upsert {
				continue
			}
			run := func(how string, write func(pgbulk.Table) error) (outcome string) {
				const name = "tt"
				schema := fmt.Sprintf("s%d", rand.Uint32())
				must(t, conn, "create schema "+schema+"; grant usage on schema "+schema+" to public; set search_path to "+schema)
				must(t, conn, strings.NewReplacer("T", name, "S", schema).Replace(c.setup))
				defer must(t, conn, "reset role; reset search_path; drop schema "+schema+" cascade")
				if c.as {
					must(t, conn, "set role "+role)
				}
				err := write(pgbulk.Table{Name: pgx.Identifier{name}, Columns: []string{"id", "a"}, Key: []string{"id"}})
				usable(t, conn)
				must(t, conn, "reset role")
				code := codeOf(err)
				return code + " " + get[string](t, conn, "select coalesce(string_agg(r::text, ' ' order by r::text), '') from "+strings.ReplaceAll(c.read, "T", name)+" r")
			}
			want := run("pgx", func(table pgbulk.Table) error {
				return pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
					for _, row := range rows {
						sql := "insert into " + table.Name.Sanitize() + " (id, a) values ($1, $2)"
						if upserts {
							sql += " on conflict (id) do update set a = excluded.a"
						}
						if _, err := tx.Exec(t.Context(), sql, append([]any{pgx.QueryExecModeExec}, row...)...); err != nil {
							return err
						}
					}
					return nil
				})
			})
			for _, s := range strategies {
				call := insert
				if upserts {
					call = upsert
				}
				got := run(name(s), func(table pgbulk.Table) error {
					r, err := call(t.Context(), conn, table, pgbulk.Slice(rows), settings{Strategy: s})
					if s == pgbulk.Auto && err == nil && !upserts && (r.Strategy == pgbulk.Copy) != c.copies {
						t.Errorf("%s: Auto took %s", c.what, r.Strategy)
					}
					return err
				})
				if got != want {
					t.Errorf("%s, upsert %v, %s: %q, want %q", c.what, upserts, name(s), got, want)
				}
			}
		}
	}
}

// An event trigger would fire for each temporary table, and may refuse it: Auto does without.
func TestEventTrigger(t *testing.T) {
	conn := connect(t)
	table := newTable(t, conn, "id int8 primary key, name text")
	trigger := strings.Trim(table.Sanitize(), `"`) + "_refuse"
	must(t, conn, fmt.Sprintf(`create function %[1]s() returns event_trigger language plpgsql as $$ begin
		raise 'no tables here'; end $$;
		create event trigger %[1]s on ddl_command_start execute procedure %[1]s()`, trigger), pgx.QueryExecModeSimpleProtocol)
	defer must(t, conn, fmt.Sprintf("drop event trigger %[1]s; drop function %[1]s()", trigger), pgx.QueryExecModeSimpleProtocol)
	rows := pgbulk.Values(seq(10_000, func(i int) []any { return []any{int64(i), strings.Repeat("x", 50)} }))
	to := pgbulk.Table{Name: table, Columns: []string{"id", "name"}, Key: []string{"id"}}
	r, err := pgbulk.Upsert(t.Context(), conn, to, rows, pgbulk.UpsertOptions{})
	if err != nil || r.Strategy != pgbulk.Unnest || r.Affected != 10_000 {
		t.Errorf("%v, %v, want unnest", r, err)
	}
}

// TestAlteredBetween alters the table after the call has asked about it, and before it sends a row.
// Bytes must not be read as the wrong type: an int8's are valid for a float8 too.
func TestAlteredBetween(t *testing.T) {
	for _, s := range strategies {
		for _, op := range []operation{opInsert, opUpsert} {
			if s == pgbulk.Copy && op == opInsert {
				continue // it has the lock of its COPY from the first row on
			}
			t.Run(fmt.Sprint(op, "/", name(s)), func(t *testing.T) {
				conn, other := connect(t), connect(t)
				table := pgbulk.Table{Name: newTable(t, conn, `id int primary key, "it's" int8`), Columns: []string{"id", "it's"}, Key: []string{"id"}}
				rows := pgbulk.Values(seq(40, func(i int) []any { // enough that Auto copies
					if i == 1 {
						must(t, other, "alter table "+table.Name.Sanitize()+` alter "it's" type float8`)
					}
					return []any{i, 4607182418800017408}
				}))
				_, err := op.call(t.Context(), conn, table, rows, settings{Strategy: s})
				if s == pgbulk.Auto && op == opInsert {
					if err == nil || !strings.Contains(err.Error(), "the table was altered") {
						t.Errorf("error %v", err)
					}
				} else if err != nil { // it is converted
					t.Error(err)
				}
				if n := get[int](t, conn, "select count(*) from "+table.Name.Sanitize()+` where "it's" <> 4607182418800017408`); n != 0 {
					t.Errorf("%d values were mistaken", n)
				}
				usable(t, conn)
			})
		}
	}
}
