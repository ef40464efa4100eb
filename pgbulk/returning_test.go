package pgbulk_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"postage/pgbulk"
	"postage/pgbulk/pgtest"
)

type written struct {
	ID      int
	Name    *string `db:"full_name"`
	Created time.Time
	Tags    []string
	Mood    string
}

const writtenColumns = `id int primary key, full_name text, created timestamptz default '2020-02-02 20:20:20+00', tags text[] default '{a,b}', mood mood default 'ok', other int`

func TestReturning(t *testing.T) {
	conn := connect(t)
	must(t, conn, types)
	born := time.Date(2020, 2, 2, 20, 20, 20, 0, time.UTC)
	row := func(id int, name string) written {
		return written{ID: id, Name: &name, Created: born, Tags: []string{"a", "b"}, Mood: "ok"}
	}
	for _, s := range strategies {
		for _, inTx := range []bool{false, true} {
			t.Run(fmt.Sprint(name(s), "/", inTx), func(t *testing.T) {
				table := pgbulk.Table{Name: newTable(t, conn, writtenColumns), Columns: []string{"id", "full_name"}, Key: []string{"id"}}
				got := map[int]written{}
				o := settings{Strategy: s, ChunkRows: 2}
				returning := pgbulk.Return(func(r written) error {
					r.Created = r.Created.UTC()
					got[r.ID] = r
					return nil
				})
				check := func(what string, r pgbulk.Result, err error, names string, want ...int) {
					t.Helper()
					if err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					if len(got) != len(want) || r.Affected != int64(len(want)) {
						t.Errorf("%s: %+v, returned %v, want %v", what, r, got, want)
					}
					for _, id := range want {
						if w := row(id, names+fmt.Sprint(id)); !reflect.DeepEqual(got[id], w) {
							t.Errorf("%s: row %+v, want %+v", what, got[id], w)
						}
					}
					clear(got)
				}
				rows := func(name string, ids ...int) pgbulk.Source {
					return pgbulk.Values(seq(len(ids), func(i int) []any { return []any{ids[i], name + fmt.Sprint(ids[i])} }))
				}
				var db pgbulk.DB = conn
				if inTx {
					tx, err := conn.Begin(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					defer tx.Rollback(context.Background())
					db = tx
				}
				o.Returning = returning
				r, err := insert(t.Context(), db, table, rows("in", 1, 2, 3), o)
				check("insert", r, err, "in", 1, 2, 3)
				r, err = upsert(t.Context(), db, table, rows("up", 2, 3, 4, 5, 6), o)
				check("upsert", r, err, "up", 2, 3, 4, 5, 6)
				o.SkipExisting = true
				r, err = upsert(t.Context(), db, table, rows("no", 2, 3, 7), o)
				check("nothing", r, err, "no", 7)
				o.SkipExisting = false
				r, err = update(t.Context(), db, table, rows("set", 1, 99, 3), o)
				check("update", r, err, "set", 1, 3)
				if status := conn.PgConn().TxStatus(); (status == 'T') != inTx {
					t.Errorf("transaction status %c", status)
				}
				if n := get[int](t, conn, "select count(*) from "+table.Name.Sanitize()); n != 7 {
					t.Errorf("%d rows are there", n)
				}
			})
		}
	}
}

// TestReturningFailures: the caller's function fails or panics, or the context ends while it has a
// row: no row is written.
func TestReturningFailures(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	refusal := errors.New("the receiver refuses this row")
	type id struct{ ID int }
	for _, s := range strategies {
		for _, inTx := range []bool{false, true} {
			for _, size := range []int{10, short(4000, 20_000)} { // sockets hold less than 300 of the large ones
				t.Run(fmt.Sprint(name(s), "/", inTx, "/", size), func(t *testing.T) {
					conn := connect(t)
					table := pgbulk.Table{Name: newTable(t, conn, "id int primary key, pad text check (pad <> 'bad'), back text default repeat('y', 100)"), Columns: []string{"id", "pad"}, Key: []string{"id"}}
					rows := func(bad int) pgbulk.Source {
						return pgbulk.Values(seq(300, func(i int) []any {
							if i == bad {
								return []any{i, "bad"}
							}
							return []any{i, strings.Repeat("x", size)}
						}))
					}
					call := func(ctx context.Context, rows pgbulk.Source, each func(id) error) (status byte, err error) {
						var db pgbulk.DB = conn
						if inTx {
							tx, err := conn.Begin(t.Context())
							if err != nil {
								t.Fatal(err)
							}
							defer tx.Rollback(context.Background())
							db = tx
						}
						defer func() {
							if p := recover(); p != nil {
								err = fmt.Errorf("panic: %v", p)
							}
							status = conn.PgConn().TxStatus()
						}()
						_, err = upsert(ctx, db, table, rows, settings{Strategy: s, Returning: pgbulk.Return(each)})
						return 0, err
					}
					check := func(what string, status byte) {
						t.Helper()
						if want := map[bool]byte{false: 'I', true: 'E'}[inTx]; status != want {
							t.Errorf("%s: transaction status %c, want %c", what, status, want)
						}
						if n := get[int](t, conn, "select count(*) from "+table.Name.Sanitize()); n != 0 {
							t.Errorf("%s: %d rows are in", what, n)
						}
						usable(t, conn)
					}
					for _, at := range []int{0, 150, 299} {
						n := 0
						status, err := call(t.Context(), rows(-1), func(id) error {
							if n++; n > at {
								return refusal
							}
							return nil
						})
						if e, ok := pgbulk.AsType[*pgbulk.Error](err); !ok || !errors.Is(err, refusal) || e.Uncertain || e.Closed || n != at+1 {
							t.Errorf("after %d rows: %v", n, err)
						}
						check("refusal", status)
					}
					status, err := call(t.Context(), rows(-1), func(r id) error {
						if r.ID == 200 {
							panic("no")
						}
						return nil
					})
					if err == nil || err.Error() != "panic: no" {
						t.Errorf("panic: %v", err)
					}
					check("panic", status)
					conn, err = stays(t, "cancel", func(other *pgx.Conn) (err error) {
						conn = other // which call and check use
						ctx, cancel := context.WithCancel(t.Context())
						defer cancel()
						status, err = call(ctx, rows(-1), func(r id) error {
							if r.ID == 299 {
								cancel()
							}
							return nil
						})
						return err
					})
					if !inTx || err != nil { // in a transaction all had been done by then
						if !errors.Is(err, context.Canceled) {
							t.Errorf("cancel: %v", err)
						}
						check("cancel", status)
					}
					status, err = call(t.Context(), rows(222), func(id) error { return nil })
					if e, ok := pgbulk.AsType[*pgbulk.Error](err); !ok || codeOf(err) != "23514" || e.Row > 222 || (s == pgbulk.Copy) != (e.Row < 0) || e.Row >= 0 && e.LastRow < 222 {
						t.Errorf("violation: %v", err)
					}
					check("violation", status)
				})
			}
		}
	}
	// A NULL for a field that cannot be NULL.
	table := pgbulk.Table{Name: newTable(t, conn, "id int primary key, a text"), Columns: []string{"id"}, Key: []string{"id"}}
	_, err := upsert(t.Context(), conn, table, pgbulk.Slice([][]any{{1}}), settings{Returning: pgbulk.Return(func(struct{ A string }) error { return nil })})
	if err == nil || !strings.Contains(err.Error(), `returned column "a"`) {
		t.Errorf("NULL: %v", err)
	}
	usable(t, conn)
}

// TestReturningDeferred: a constraint that is checked at the end fails the commit, after all rows
// were handed out.
func TestReturningDeferred(t *testing.T) {
	conn := connect(t)
	for _, s := range strategies {
		table := pgbulk.Table{Name: newTable(t, conn, "id int primary key, a int unique deferrable initially deferred"), Columns: []string{"id", "a"}, Key: []string{"id"}}
		n := 0
		_, err := upsert(t.Context(), conn, table, pgbulk.Slice([][]any{{1, 1}, {2, 1}}), settings{Strategy: s, Returning: pgbulk.Return(func(struct{ ID int }) error { n++; return nil })})
		e, ok := pgbulk.AsType[*pgbulk.Error](err)
		if pg, is := pgbulk.AsType[*pgconn.PgError](err); !ok || !is || pg.Code != "23505" || e.Uncertain || n != 2 {
			t.Errorf("%s: %d rows, %v", name(s), n, err)
		}
		if n := get[int](t, conn, "select count(*) from "+table.Name.Sanitize()); n != 0 {
			t.Errorf("%d rows are in", n)
		}
		usable(t, conn)
	}
}

func TestReturningRefusals(t *testing.T) {
	conn := connect(t)
	table := pgbulk.Table{Name: newTable(t, conn, "id int primary key, fullname text, full_name text"), Columns: []string{"id"}, Key: []string{"id"}}
	for _, c := range []struct {
		r    *pgbulk.Returning
		want string
	}{
		{pgbulk.Return(func(int) error { return nil }), "not a struct"},
		{pgbulk.Return(func(struct{}) error { return nil }), "no exported fields"},
		{pgbulk.Return(func(struct{ Nope int }) error { return nil }), "field Nope of struct { Nope int } has no column"},
		{pgbulk.Return(func(struct{ FullName string }) error { return nil }), `can be column "fullname" or "full_name"`},
	} {
		_, err := upsert(t.Context(), conn, table, pgbulk.Slice([][]any{{1}}), settings{Returning: c.r})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
		if n := get[int](t, conn, "select count(*) from "+table.Name.Sanitize()); n != 0 {
			t.Errorf("%d rows are in", n)
		}
	}
}

// TestReturningBothWays: the server has as much to send as the client, far more than sockets hold.
// Neither may wait for the other, and the client must not collect what comes.
func TestReturningBothWays(t *testing.T) {
	for _, transport := range []pgtest.Transport{pgtest.Unix, pgtest.TCP} {
		for _, s := range []pgbulk.Strategy{pgbulk.Bind, pgbulk.Copy} {
			if !longRun() && (transport == pgtest.TCP) != (s == pgbulk.Copy) {
				continue // each of them once
			}
			t.Run(fmt.Sprint(transport, "/", s), func(t *testing.T) {
				conn, err := pgx.Connect(t.Context(), dsn(t, transport))
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close(context.Background())
				table := pgbulk.Table{Name: newTable(t, conn, "id int primary key, pad text, back text"), Columns: []string{"id", "pad"}, Key: []string{"id"}}
				must(t, conn, "alter table "+table.Name.Sanitize()+" alter pad set storage external, alter back set storage external")
				const size = 64 << 10
				rows := short(300, 500)
				must(t, conn, "alter table "+table.Name.Sanitize()+" alter back set default repeat('b', 65536)")
				pad := strings.Repeat("p", size)
				var before runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				var most uint64
				n := 0
				returning := pgbulk.Return(func(r struct {
					ID        int
					Pad, Back string
				}) error {
					if n++; len(r.Pad) != size || len(r.Back) != size {
						return fmt.Errorf("row %d: %d and %d bytes", r.ID, len(r.Pad), len(r.Back))
					}
					if n%100 == 0 {
						runtime.GC()
						var m runtime.MemStats
						runtime.ReadMemStats(&m)
						most = max(most, m.HeapAlloc)
					}
					return nil
				})
				ctx, cancel := contextWithTimeout(t, 2*time.Minute)
				defer cancel()
				source := pgbulk.Values(seq(rows, func(i int) []any { return []any{i, pad} }))
				if _, err := upsert(ctx, conn, table, source, settings{Strategy: s, Returning: returning}); err != nil {
					t.Fatal(err)
				}
				if n != rows {
					t.Errorf("%d rows came back", n)
				}
				if grown := int64(most) - int64(before.HeapAlloc); grown > 16<<20 {
					t.Errorf("the heap grew by %d bytes while %d came back", grown, 2*rows*size)
				}
			})
		}
	}
}

// TestReturningProperty reads random values of random types back as they were written, and compares
// them with what pgx reads.
func TestReturningProperty(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	must(t, conn, types)
	type row struct {
		ID int
		C0 any
		C1 any
		C2 *string
	}
	ctx := context.Background()
	property(t, func(r source) {
		k0 := r.kind()
		k1 := r.kind()
		table := pgbulk.Table{Name: pgx.Identifier{fmt.Sprint("back", tables.Add(1))}, Columns: []string{"id", "c0", "c1", "c2"}, Key: []string{"id"}}
		if _, err := conn.Exec(ctx, fmt.Sprintf("create table %s (id int primary key, c0 %s, c1 %s, c2 text)", table.Name.Sanitize(), k0.sql, k1.sql)); err != nil {
			t.Fatal(err)
		}
		defer conn.Exec(ctx, "drop table "+table.Name.Sanitize())
		o := r.settings()
		for round := range 2 {
			var rows [][]any
			for i := range r.size(20) {
				rows = append(rows, []any{i, valueOf(r, k0, i), valueOf(r, k1, i), fmt.Sprint(round)})
			}
			returned := map[int]row{}
			o.Returning = pgbulk.Return(func(r row) error {
				returned[r.ID] = r
				return nil
			})
			result, err := upsert(ctx, conn, table, pgbulk.Slice(rows), o)
			if err != nil {
				t.Fatal(err)
			}
			mode := pgx.QueryExecModeDescribeExec
			if result.Strategy == pgbulk.Copy {
				mode = pgx.QueryExecModeSimpleProtocol // text, as there
			}
			got, err := conn.Query(ctx, "select * from "+table.Name.Sanitize()+" where c2 = $1 order by id", mode, fmt.Sprint(round))
			if err != nil {
				t.Fatal(err)
			}
			want, err := pgx.CollectRows(got, pgx.RowToStructByPos[row])
			if err != nil {
				t.Fatal(err)
			}
			if len(want) != len(returned) {
				t.Fatalf("%d rows were returned, %d are there", len(returned), len(want))
			}
			for _, w := range want {
				// As %#v, in which NaN is like NaN.
				if r := returned[w.ID]; fmt.Sprintf("%#v", []any{r.C0, r.C1}) != fmt.Sprintf("%#v", []any{w.C0, w.C1}) && !reflect.DeepEqual(r, w) {
					t.Fatalf("%v, %v: returned %#v, pgx reads %#v", k0, k1, r, w)
				}
			}
		}
	})
}
