//go:build unix

package pgbulk_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"postage/pgbulk"
)

var modes = []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol}

// poolerCall writes one row, its id and the name of the table it is meant for.
type poolerCall struct {
	name string
	run  func(ctx context.Context, conn *pgx.Conn, table pgx.Identifier, id int) error
}

var poolerCalls = []poolerCall{
	{"Exec", func(ctx context.Context, conn *pgx.Conn, table pgx.Identifier, id int) error {
		_, err := pgbulk.Exec(ctx, conn, "insert into "+table.Sanitize()+" values ($1, $2)", id, table[0])
		return err
	}},
	{"Insert", poolerWrite(insert, pgbulk.Auto)},
	{"Insert, Bind", poolerWrite(insert, pgbulk.Bind)},
	{"Upsert", poolerWrite(upsert, pgbulk.Auto)},
	{"Upsert, Copy", poolerWrite(upsert, pgbulk.Copy)},
	{"returning", func(ctx context.Context, conn *pgx.Conn, table pgx.Identifier, id int) error {
		type row struct {
			ID   int
			Mark string
		}
		var got []row
		o := settings{Strategy: []pgbulk.Strategy{pgbulk.Bind, pgbulk.Copy}[id%2], Returning: pgbulk.Return(func(r row) error { got = append(got, r); return nil })}
		_, err := upsert(ctx, conn, pgbulk.Table{Name: table, Columns: []string{"id", "mark"}, Key: []string{"id"}}, pgbulk.Slice([][]any{{id, table[0]}}), o)
		if err == nil && !slices.Equal(got, []row{{id, table[0]}}) {
			panic(fmt.Sprint("returned ", got))
		}
		return err
	}},
	{"by key", func(ctx context.Context, conn *pgx.Conn, table pgx.Identifier, id int) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			t := pgbulk.Table{Name: table, Columns: []string{"id", "mark"}, Key: []string{"id"}}
			if _, err := insert(ctx, tx, t, pgbulk.Slice([][]any{{id, "x"}, {-id, "x"}}), settings{Strategy: pgbulk.Bind}); err != nil {
				return err
			}
			if _, err := update(ctx, tx, t, pgbulk.Slice([][]any{{id, table[0]}}), settings{}); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "delete from "+table.Sanitize()+" where id = $1", pgx.QueryExecModeExec, -id)
			return err
		})
	}},
	{"transaction", func(ctx context.Context, conn *pgx.Conn, table pgx.Identifier, id int) error {
		// The row by Exec, and another through a temporary table, which is dropped again.
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := pgbulk.Exec(ctx, tx, "insert into "+table.Sanitize()+" values ($1, $2)", id, table[0]); err != nil {
				return err
			}
			if err := poolerWrite(upsert, pgbulk.Copy)(ctx, conn, table, -id); err != nil {
				return err
			}
			_, err := pgbulk.Exec(ctx, tx, "delete from "+table.Sanitize()+" where id = $1 and mark = $2", -id, table[0])
			return err
		})
	}},
}

func poolerWrite(write func(context.Context, pgbulk.DB, pgbulk.Table, pgbulk.Source, settings) (pgbulk.Result, error), s pgbulk.Strategy) func(context.Context, *pgx.Conn, pgx.Identifier, int) error {
	return func(ctx context.Context, conn *pgx.Conn, table pgx.Identifier, id int) error {
		_, err := write(ctx, conn, pgbulk.Table{Name: table, Columns: []string{"id", "mark"}, Key: []string{"id"}}, pgbulk.Slice([][]any{{id, table[0]}}), settings{Strategy: s})
		return err
	}
}

// outcome counts how the calls of one cell of the table ended.
type outcome struct{ calls, wrong, lost, ghosts, uncertain, killed, refused int }

// supports are the settings with and without prepared statements.
func supports(t *testing.T, major, minor int) map[string]string {
	if major > 1 || minor >= 21 {
		return map[string]string{"off": "max_prepared_statements = 0", "on": "max_prepared_statements = 100"}
	}
	t.Logf("PgBouncer %d.%d knows no prepared statements: max_prepared_statements came with 1.21", major, minor)
	return map[string]string{"off": ""}
}

// TestPooler has clients that write to one of two tables each, through a PgBouncer with two server
// connections, one of which is killed now and then. No row may end up in the other client's table,
// and what a call reports must be true. With POSTAGE_LONG it prints the table in
// docs/evidence/pgbulk.md; else each call is made in about half of the modes.
func TestPooler(t *testing.T) {
	path, major, minor := pgbouncer(t)
	settings := supports(t, major, minor)
	each := short(8, 216) // calls a cell; with POSTAGE_LONG 10,800 together
	var report strings.Builder
	total := 0
	for support, setting := range settings {
		p := startPgBouncer(t, path, setting)
		fmt.Fprintf(&report, "PgBouncer %d.%d, transaction mode, prepared statements %s\n%-16s %-14s %7s %11s %5s %7s %10s %7s %8s\n", major, minor, support,
			"mode", "call", "calls", "wrong place", "lost", "ghosts", "uncertain", "killed", "refused")
		for i, mode := range modes {
			for j, call := range poolerCalls {
				if !longRun() && (i+j)%2 > 0 {
					continue
				}
				o := poolerRun(t, p, mode, call, each)
				total += o.calls
				fmt.Fprintf(&report, "%-16s %-14s %7d %11d %5d %7d %10d %7d %8d\n", mode, call.name, o.calls, o.wrong, o.lost, o.ghosts, o.uncertain, o.killed, o.refused)
				if o.wrong+o.lost+o.ghosts > 0 {
					t.Errorf("%v, %s: %+v", mode, call.name, o)
				}
				// In a transaction there is no second try.
				if o.refused > 0 && !(mode == pgx.QueryExecModeCacheStatement && call.name == "transaction") {
					t.Errorf("%v, %s: %d errors that no kill explains", mode, call.name, o.refused)
				}
			}
		}
	}
	t.Logf("%d calls\n%s", total, &report)
}

// poolerRun has 8 clients make n calls, half of them into one table and half into another.
func poolerRun(t *testing.T, p *pooler, mode pgx.QueryExecMode, call poolerCall, n int) (o outcome) {
	const clients = 8
	observer := connect(t)
	defer observer.Close(context.Background())
	tables := [2]pgx.Identifier{newTable(t, observer, "id int primary key, mark text"), newTable(t, observer, "id int primary key, mark text")}
	var mu sync.Mutex
	results := map[int]error{}
	stop := killing(t)
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			conn := p.connect(t, mode)
			for i := range n / clients {
				if conn == nil || conn.IsClosed() {
					if conn = p.connect(t, mode); conn == nil {
						return
					}
				}
				id := 1 + i*clients + c
				err := call.run(t.Context(), conn, tables[c%2], id)
				mu.Lock()
				results[id] = err
				mu.Unlock()
			}
			conn.Close(context.Background())
		})
	}
	all.Wait()
	stop()
	settled(t, observer)
	present := map[int]int{}
	for i, table := range tables {
		rows, _ := observer.Query(t.Context(), "select id, mark from "+table.Sanitize())
		for rows.Next() {
			var id int
			var mark string
			if err := rows.Scan(&id, &mark); err != nil {
				t.Fatal(err)
			}
			if mark != table[0] || (id-1)%clients%2 != i {
				o.wrong++
			}
			present[id]++
		}
		if rows.Err() != nil {
			t.Fatal(rows.Err())
		}
	}
	for id, err := range results {
		o.calls++
		var e *pgbulk.Error
		errors.As(err, &e)
		uncertain := e != nil && e.Uncertain || err != nil && e == nil // commit's own
		switch {
		case err == nil && present[id] != 1:
			o.lost++
		case err == nil:
		case uncertain:
			o.uncertain++
		case present[id] != 0:
			o.ghosts++
		}
		if err != nil && !byKill(err) {
			if o.refused++; o.refused <= 3 {
				t.Logf("%v, %s: %v", mode, call.name, err)
			}
		} else if err != nil {
			o.killed++
		}
	}
	return o
}

// killing terminates one of the pooled backends every 20 ms, until it is stopped.
func killing(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var killer sync.WaitGroup
	killer.Go(func() {
		k := connect(t)
		defer k.Close(context.Background())
		for ctx.Err() == nil {
			time.Sleep(20 * time.Millisecond)
			_, err := k.Exec(context.Background(), `select pg_terminate_backend(pid) from (select pid from pg_stat_activity
				where application_name = 'pgbulk pooled' order by random() limit 1) as one`)
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	return func() { cancel(); killer.Wait() }
}

// byKill reports whether an error is what a killed server connection leads to.
func byKill(err error) bool {
	pgErr, ok := pgbulk.AsType[*pgconn.PgError](err)
	if !ok {
		return true // of the network
	}
	return pgErr.Code == "57P01" || pgErr.Code[:2] == "08"
}

// settled waits until no pooled backend is in a transaction.
func settled(t testing.TB, observer *pgx.Conn) {
	t.Helper()
	for range 3000 {
		if get[int](t, observer, "select count(*) from pg_stat_activity where application_name = 'pgbulk pooled' and state <> 'idle'") == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("backends do not come to rest")
}
