package pgbulk_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/stdlib"

	"postage/pgbulk"
	"postage/pgbulk/pgtest"
)

// raw runs a call on the pgx connection below a database/sql one.
func raw(conn *sql.Conn, call func(pgbulk.DB) error) error {
	return conn.Raw(func(driver any) error { return call(driver.(*stdlib.Conn).Conn()) })
}

// TestDatabaseSQL: a database/sql connection of pgx's driver gives its *pgx.Conn by Raw, and a
// transaction begun on it counts.
func TestDatabaseSQL(t *testing.T) {
	observer := connect(t)
	db, err := sql.Open("pgx", dsn(t, pgtest.Unix))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range strategies {
		table := pgbulk.Table{Name: newTable(t, observer, "id int primary key, a text"), Columns: []string{"id", "a"}, Key: []string{"id"}}
		count := func() int { return get[int](t, observer, "select count(*) from "+table.Name.Sanitize()) }
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		rows := func(ids ...int) pgbulk.Source {
			return pgbulk.Values(seq(len(ids), func(i int) []any { return []any{ids[i], "x"} }))
		}
		upsert := func(ids ...int) error {
			return raw(conn, func(db pgbulk.DB) error {
				_, err := upsert(t.Context(), db, table, rows(ids...), settings{Strategy: s})
				return err
			})
		}
		if err := upsert(1, 2); err != nil || count() != 2 {
			t.Fatalf("%q: %d rows, %v", s, count(), err)
		}
		for _, commit := range []bool{false, true} {
			tx, err := conn.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec("insert into "+table.Name.Sanitize()+" values ($1)", 10); err != nil {
				t.Fatal(err)
			}
			if err := upsert(2, 3, 4); err != nil {
				t.Fatal(err)
			}
			var seen int
			if err := tx.QueryRow("select count(*) from " + table.Name.Sanitize()).Scan(&seen); err != nil || seen != 5 || count() != 2 {
				t.Errorf("%q: in the transaction %d rows, outside %d, %v", s, seen, count(), err)
			}
			if !commit {
				err = tx.Rollback()
			} else {
				err = tx.Commit()
			}
			if want := map[bool]int{false: 2, true: 5}[commit]; err != nil || count() != want {
				t.Errorf("%q: %d rows, want %d, %v", s, count(), want, err)
			}
		}
		// A connection that had to be closed is not used again by database/sql.
		ctx, cancel := context.WithCancel(t.Context())
		err = raw(conn, func(db pgbulk.DB) error {
			_, err := opUpsert.call(ctx, db, table, pgbulk.Values(func(yield func([]any) bool) {
				cancel()
				for i := 100; yield([]any{i, "x"}); i++ { // until the call has noticed
				}
			}), settings{Strategy: s})
			return err
		})
		if !errors.Is(err, context.Canceled) || count() != 5 {
			t.Errorf("%q: %d rows, %v", s, count(), err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		var one int
		if err := db.QueryRow("select 1").Scan(&one); err != nil || one != 1 {
			t.Errorf("%q: afterwards %d, %v", s, one, err)
		}
	}
	if n := db.Stats().InUse; n != 0 {
		t.Errorf("%d connections are in use", n)
	}
}
