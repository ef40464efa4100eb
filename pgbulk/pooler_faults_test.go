//go:build unix

package pgbulk_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"postage/pgbulk"
)

// refusedRows are n rows of which the one with the given number violates a constraint.
func refusedRows(n, bad int) pgbulk.Source {
	return pgbulk.Values(seq(n, func(i int) []any {
		v := "a value of some length, so that the rows are many messages"
		if i == bad {
			v = "refused"
		}
		return []any{i, v}
	}))
}

// TestPoolerFailedCalls has a client whose calls fail while rows are on their way, behind a
// PgBouncer with one server connection, and another client whose queries must not notice.
func TestPoolerFailedCalls(t *testing.T) {
	path, major, minor := pgbouncer(t)
	each := short(2, 100)
	for support, setting := range supports(t, major, minor) {
		p := startPgBouncer(t, path, setting+"\ndefault_pool_size = 1")
		observer := connect(t)
		table := newTable(t, observer, "id int primary key, v text check (v <> 'refused')")
		for _, s := range strategies {
			for what, call := range map[string]callFunc{"insert": insert, "upsert": upsert} {
				harmed := 0
				for range each {
					func() {
						ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
						defer cancel()
						failing, other := p.connect(t, pgx.QueryExecModeDescribeExec), p.connect(t, pgx.QueryExecModeDescribeExec)
						defer failing.Close(ctx)
						defer other.Close(ctx)
						_, err := call(ctx, failing, pgbulk.Table{Name: table, Columns: []string{"id", "v"}, Key: []string{"id"}}, refusedRows(20_000, 3), settings{Strategy: s})
						if e, ok := pgbulk.AsType[*pgconn.PgError](err); !ok || e.Code != "23514" {
							t.Errorf("%s, %s: %v", what, name(s), err)
						}
						soon, cancel := context.WithTimeout(ctx, 10*time.Second)
						defer cancel()
						var one int
						if err := other.QueryRow(soon, "select 1").Scan(&one); err != nil {
							if harmed++; harmed == 1 {
								t.Logf("%s, %s: the next query of another client: %v", what, name(s), err)
							}
						}
					}()
				}
				if harmed > 0 {
					t.Errorf("PgBouncer %d.%d, prepared statements %s, %s, %s: %d of %d next queries of another client failed", major, minor, support, what, name(s), harmed, each)
				}
			}
		}
	}
}

// TestPgpool has calls of many statements fail behind pgpool-II, which has each statement commit by
// itself unless there was a BEGIN. None of their rows may be in. Those that succeed have all in. A
// call of one statement is not tested: pgpool-II 4.3 leaves it in a transaction of its own until
// the client's next statement, as it does with plain pgx.
func TestPgpool(t *testing.T) {
	p := startPgpool(t)
	observer := connect(t)
	const n = 1000
	for _, s := range strategies {
		for what, call := range map[string]callFunc{"insert": insert, "upsert": upsert} {
			for _, returning := range []bool{false, true} {
				conn := p.connect(t, pgx.QueryExecModeDescribeExec)
				table := newTable(t, observer, "id int primary key, v text check (v <> 'refused')")
				to := pgbulk.Table{Name: table, Columns: []string{"id", "v"}, Key: []string{"id"}}
				in := func() int { return get[int](t, observer, "select count(*) from "+table.Sanitize()) }
				for _, rows := range []pgbulk.Source{refusedRows(n, n-1), padded(n, n-1)} {
					o := settings{Strategy: s}
					if returning {
						o.Returning = pgbulk.Return(func(struct{ ID int }) error { return nil })
					}
					_, err := call(t.Context(), conn, to, rows, o)
					if e, ok := pgbulk.AsType[*pgconn.PgError](err); !ok || e.Code != "23514" || in() != 0 {
						t.Errorf("%s, %s: %v, %d rows are in", what, name(s), err, in())
						must(t, observer, "truncate "+table.Sanitize())
					}
				}
				r, err := call(t.Context(), conn, to, padded(n, -1), settings{Strategy: s})
				if err != nil || r.Affected != n || in() != n {
					t.Errorf("%s, %s: %+v, %v, %d rows are in", what, name(s), r, err, in())
				}
				usable(t, conn)
				// pgpool gives up the client where a call gives up: it does not know the portal
				// that has the server undo the rows.
				must(t, observer, "truncate "+table.Sanitize())
				dry := errors.New("dry")
				_, err = call(t.Context(), conn, to, pgbulk.Fallible(func(yield func([]any, error) bool) {
					for i := range n {
						yield([]any{i, "x"}, nil)
					}
					yield(nil, dry)
				}), settings{Strategy: s})
				if !errors.Is(err, dry) || in() != 0 {
					t.Errorf("%s, %s: %v, %d rows are in", what, name(s), err, in())
				}
				conn.Close(context.Background())
			}
		}
	}
}

// padded are rows of more than 800 bytes, for which Auto takes Bind.
func padded(n, bad int) pgbulk.Source {
	return pgbulk.Values(iter.Seq[[]any](seq(n, func(i int) []any {
		v := fmt.Sprintf("%0900d", i)
		if i == bad {
			v = "refused"
		}
		return []any{i, v}
	})))
}
