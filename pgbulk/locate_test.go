package pgbulk_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"postage/pgbulk"
)

// TestErrorFoundLate has errors that the server finds when the rows are in. No other row is named.
func TestErrorFoundLate(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	parent := newTable(t, conn, "id int primary key")
	must(t, conn, "insert into "+parent.Sanitize()+" select generate_series(0, 499)")
	must(t, conn, `create or replace function refuse_late() returns trigger language plpgsql as $$ begin if new.ref = 1000 then raise exception 'refused'; end if; return new; end $$`)
	for _, c := range []struct{ what, setup string }{
		{"foreign key", "alter table T add foreign key (ref) references P"},
		{"deferred foreign key", "alter table T add foreign key (ref) references P deferrable initially deferred"},
		{"deferred unique", "alter table T add unique (u) deferrable initially deferred"},
		{"after trigger", "create trigger late after insert or update on T for each row execute function refuse_late()"},
		{"constraint trigger", "create constraint trigger late after insert or update on T deferrable initially deferred for each row execute function refuse_late()"},
	} {
		for _, s := range strategies {
			for _, call := range []struct {
				what string
				run  callFunc
			}{{"insert", insert}, {"upsert", upsert}} {
				for _, inTx := range []bool{false, true} {
					table := pgbulk.Table{Name: newTable(t, conn, "id int primary key, ref int, u int"), Columns: []string{"id", "ref", "u"}, Key: []string{"id"}}
					must(t, conn, strings.NewReplacer("T", table.Name.Sanitize(), "P", parent.Sanitize()).Replace(c.setup))
					const wrong = 137
					rows := pgbulk.Values(seq(500, func(i int) []any {
						if i == wrong {
							return []any{i, 1000, 1}
						}
						return []any{i, i, i}
					}))
					var db pgbulk.DB = conn
					var tx pgx.Tx
					if inTx {
						var err error
						if tx, err = conn.Begin(t.Context()); err != nil {
							t.Fatal(err)
						}
						db = tx
					}
					_, err := call.run(t.Context(), db, table, rows, settings{Strategy: s})
					if inTx {
						tx.Rollback(t.Context())
						if err == nil {
							continue // it would have been found at the commit
						}
					}
					where := fmt.Sprintf("%s, %s, %s, transaction %v", c.what, call.what, name(s), inTx)
					var e *pgbulk.Error
					if !errors.As(err, &e) {
						t.Fatalf("%s: %v", where, err)
					}
					if e.Row != -1 && (e.Row > wrong || e.LastRow < wrong || strings.HasPrefix(c.what, "deferred")) {
						t.Errorf("%s: %+v", where, *e)
					}
					usable(t, conn)
				}
			}
		}
	}
}

// TestKeyNamed has key columns with the names of what the search itself uses.
func TestKeyNamed(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	for _, key := range []string{"n", "k1", "ctid_", "twice", "numbered", "row_number", "excluded", "user", "values"} {
		for _, s := range strategies {
			table := pgbulk.Table{Name: newTable(t, conn, pgx.Identifier{key}.Sanitize()+" int primary key, a text"), Columns: []string{key, "a"}, Key: []string{key}}
			_, err := upsert(t.Context(), conn, table, pgbulk.Values(seq(100, func(i int) []any {
				if i == 58 {
					return []any{3, "x"}
				}
				return []any{i, "x"}
			})), settings{Strategy: s})
			var e *pgbulk.Error
			if !errors.As(err, &e) || e.FirstRow != 3 || e.Row != 58 || e.LastRow != 58 {
				t.Errorf("key %s, %s: %v, want rows 3 and 58", key, name(s), err)
			}
		}
	}
}
