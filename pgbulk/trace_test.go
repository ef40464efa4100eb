package pgbulk_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"postage/pgbulk"
	"postage/pgbulk/pgtest"
)

// queries is a tracer that keeps what it is told about queries.
type queries struct{ told []string }

type startedKey struct{}

func (q *queries) note(format string, args ...any) {
	q.told = append(q.told, fmt.Sprintf(format, args...))
}

func (q *queries) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	q.note("%s %v", d.SQL, d.Args)
	return context.WithValue(ctx, startedKey{}, len(q.told))
}

func (q *queries) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryEndData) {
	q.note("end of %v: %v %v", ctx.Value(startedKey{}), d.CommandTag, d.Err != nil)
}

// TestTracing: the tracers of pgx's own calls are told of each call, once, when it begins and when
// it has ended.
func TestTracing(t *testing.T) {
	tracer := &queries{}
	setup := connect(t)
	const name = "traced_table"
	must(t, setup, "create table "+name+" (id int primary key, a text)")
	defer must(t, setup, "drop table "+name)
	for _, s := range strategies {
		func() {
			config, err := pgx.ParseConfig(dsn(t, pgtest.Unix))
			if err != nil {
				t.Fatal(err)
			}
			config.Tracer = tracer
			conn, err := pgx.ConnectConfig(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(context.Background())
			tracer.told = nil
			must(t, setup, "truncate "+name)
			table := pgbulk.Table{Name: pgx.Identifier{name}, Columns: []string{"id", "a"}, Key: []string{"id"}}
			rows := pgbulk.Slice([][]any{{1, "x"}, {2, "y"}})
			o := settings{Strategy: s}
			var errs []error
			call := func(_ any, err error) { errs = append(errs, err) }
			call(insert(t.Context(), conn, table, rows, o))
			call(insert(t.Context(), conn, table, rows, o)) // fails
			call(upsert(t.Context(), conn, table, rows, o))
			call(update(t.Context(), conn, table, rows, o))
			table.Name[0] = "no_such_table"
			call(upsert(t.Context(), conn, table, rows, o)) // fails
			table.Name[0] = name
			func() {
				defer func() { recover() }()
				upsert(t.Context(), conn, table, pgbulk.Values(func(func([]any) bool) { panic("no") }), o)
			}()
			call(pgbulk.Exec(t.Context(), conn, "delete from "+name+" where id = $1", 2))
			want := strings.Split(strings.ReplaceAll(`insert into "@" as t ("id", "a") values ($1, $2) []
end of 1: INSERT 0 2 false
insert into "@" as t ("id", "a") values ($1, $2) []
end of 3: INSERT 0 0 true
insert into "@" as t ("id", "a") values ($1, $2) on conflict ("id") do update set "a" = excluded."a" []
end of 5: INSERT 0 2 false
update "@" as t set "a" = excluded."a" from (select *, count(*) over (partition by "id") as pgbulk_times from (values ($1, $2)) as given ("id", "a")) as excluded where t."id" = excluded."id" and case when excluded.pgbulk_times > 1 and excluded."id" is not null then (select true from generate_series(1, 2)) else true end []
end of 7: UPDATE 2 false
insert into "no_such_table" as t ("id", "a") values ($1, $2) on conflict ("id") do update set "a" = excluded."a" []
end of 9: INSERT 0 0 true
insert into "@" as t ("id", "a") values ($1, $2) on conflict ("id") do update set "a" = excluded."a" []
end of 11: INSERT 0 0 true
delete from @ where id = $1 [2]
end of 13: DELETE 1 false`, "@", name), "\n")
			if !slices.Equal(tracer.told, want) {
				t.Errorf("strategy %q: told\n%s\nwant\n%s", s, strings.Join(tracer.told, "\n"), strings.Join(want, "\n"))
			}
			for j, err := range errs {
				if (err != nil) != (j == 1 || j == 4) {
					t.Errorf("call %d: %v", j, err)
				}
			}
		}()
	}
}
