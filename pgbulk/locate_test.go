package pgbulk_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"postage/pgbulk"
)

// TestErrorFoundLate has errors that the server finds when the rows are in. Either the row is
// named, or the error says that it is not.
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
					known := e.Row == wrong && e.LastRow == wrong && e.Unlocated == ""
					unknown := e.Row == -1 && e.Unlocated != "" && strings.Contains(err.Error(), e.Unlocated)
					if !known && !unknown || known && strings.HasPrefix(c.what, "deferred") {
						t.Errorf("%s: %+v", where, *e)
					}
					usable(t, conn)
				}
			}
		}
	}
}

// TestSearch counts how often a trigger fires for each row when one is refused, with and without
// the search for it.
func TestSearch(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	for _, s := range strategies {
		for _, c := range []struct {
			within time.Duration
			most   int64 // firings a row
		}{{-1, 1}, {0, 3}, {time.Millisecond, 3}} {
			table := pgbulk.Table{Name: newTable(t, conn, "id int primary key, a int"), Columns: []string{"id", "a"}, Key: []string{"id"}}
			name := table.Name.Sanitize()
			fired := table.Name[0] + "_fired"
			sleep := "0"
			if c.within == time.Millisecond {
				sleep = "0.003"
			}
			must(t, conn, strings.NewReplacer("T", name, "F", fired, "SLEEP", sleep).Replace(`create sequence F; create or replace function F_fn() returns trigger language plpgsql as
				$$ begin perform nextval('F'); perform pg_sleep(SLEEP); if new.a = 1000 then raise exception 'refused'; end if; return new; end $$;
				create trigger f before insert on T for each row execute function F_fn()`))
			const n, wrong = 100, 93
			rows := pgbulk.Values(seq(n, func(i int) []any { return []any{i, map[bool]int{true: 1000, false: i}[i == wrong]} }))
			for _, inTx := range []bool{false, true} {
				conn, err := stays(t, string(s), func(conn *pgx.Conn) error {
					must(t, conn, "select setval('"+fired+"', 1, false)")
					if inTx {
						must(t, conn, "begin")
					}
					_, err := upsert(t.Context(), conn, table, rows, settings{Strategy: s, LocateWithin: c.within})
					return err
				})
				must(t, conn, "rollback")
				var e *pgbulk.Error
				if !errors.As(err, &e) || codeOf(err) != "P0001" {
					t.Fatal(err)
				}
				if (c.within == 0) != (e.Row == wrong && e.LastRow == wrong && e.Unlocated == "") {
					t.Errorf("%s, within %v: %+v", s, c.within, *e)
				}
				if c.within != 0 && (e.Unlocated == "" || e.Row >= 0 && (e.Row > wrong || e.LastRow < wrong)) {
					t.Errorf("%s, within %v: %+v", s, c.within, *e)
				}
				if got := get[int64](t, conn, "select last_value from "+fired); got > c.most*n {
					t.Errorf("%s, within %v: the trigger fired %d times for %d rows", s, c.within, got, n)
				}
				usable(t, conn)
				conn.Close(t.Context())
			}
			must(t, conn, "drop function "+fired+"_fn cascade; drop sequence "+fired)
		}
	}
}

// TestKeyNamed has key columns with the names of what the search itself uses.
func TestKeyNamed(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	for _, key := range []string{"n", "k1", "ctid_", "twice", "numbered", "row_number", "excluded", "user", "values"} {
		for _, s := range strategies {
			table := pgbulk.Table{Name: newTable(t, conn, pgx.Identifier{key}.Sanitize()+" int primary key, a text check (a <> 'bad')"), Columns: []string{key, "a"}, Key: []string{key}}
			for wrong, row := range map[int][]any{57: {57, "bad"}, 58: {3, "x"}} {
				_, err := upsert(t.Context(), conn, table, pgbulk.Values(seq(100, func(i int) []any {
					if i == wrong {
						return row
					}
					return []any{i, "x"}
				})), settings{Strategy: s})
				var e *pgbulk.Error
				if !errors.As(err, &e) || e.Row != wrong || e.LastRow != wrong {
					t.Errorf("key %s, %s: %v, want row %d", key, name(s), err, wrong)
				}
			}
		}
	}
}
