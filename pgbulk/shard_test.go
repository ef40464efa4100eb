package pgbulk_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"postage/pgbulk"
	"postage/pgbulk/pgtest"
)

// watched are rows that report whether the call stopped asking for them.
func watched(rows iter.Seq2[[]any, error]) (_ iter.Seq2[[]any, error], stopped func() bool) {
	stop := false
	return func(yield func([]any, error) bool) {
		for row, err := range rows {
			if stop = !yield(row, err); stop {
				return
			}
		}
	}, func() bool { return stop }
}

// allOf has a pool make all of its n connections, and returns them for a look at what becomes of
// them. If an earlier call has not given one back, it waits until the test fails.
func allOf(t testing.TB, pool *pgxpool.Pool, n int) (conns []*pgx.Conn) {
	t.Helper()
	ctx, cancel := contextWithTimeout(t, time.Minute)
	defer cancel()
	for range n {
		c, err := pool.Acquire(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Release()
		conns = append(conns, c.Conn())
	}
	return conns
}

// idle checks the connections that a pool has.
func idle(t testing.TB, pool *pgxpool.Pool) {
	t.Helper()
	all := pool.AcquireAllIdle(context.Background())
	defer func() { // all of them, if one fails: the pool's Close waits for them
		for _, c := range all {
			c.Release()
		}
	}()
	for _, c := range all {
		usable(t, c.Conn())
		asBefore(t, c.Conn())
	}
}

// checkShards is check for a call of UpsertSharded. stopped says that the call did not ask for all
// rows. It returns the version that all rows have afterwards, for the next call.
func (v *versioned) checkShards(t testing.TB, observer *pgx.Conn, conns []*pgx.Conn, shards []pgbulk.Shard, err error, stopped bool, before, after int) int {
	t.Helper()
	closed, reported := 0, 0
	for _, c := range conns {
		if c.IsClosed() {
			closed++
			gone(t, observer, c.PgConn().PID())
		}
	}
	var errs []error
	for _, s := range shards {
		errs = append(errs, s.Err)
	}
	if shards == nil {
		errs = []error{err}
	}
	for _, err := range errs {
		e, ok := errors.AsType[*pgbulk.Error](err)
		if err != nil && !ok {
			t.Fatalf("error of type %T: %v", err, err)
		}
		if ok && e.Closed {
			reported++
		}
		if stopped && (err == nil || e.Uncertain) {
			t.Fatalf("not all rows were sent, and a shard has error %v", err)
		}
	}
	if failed := slices.ContainsFunc(errs, func(err error) bool { return err != nil }); failed != (err != nil) {
		t.Fatalf("error %v, and those of the shards are %v", err, errs)
	}
	if closed != reported {
		t.Fatalf("%d connections closed, %d reported: %v", closed, reported, errs)
	}
	table := v.table.Name.Sanitize()
	if n := get[int](t, observer, "select count(*) from "+table+" where version in ($1, $2)", before, after); n != v.rows {
		t.Fatalf("%d rows of %d have version %d or %d", n, v.rows, before, after)
	}
	groups := get[[]int](t, observer, "select coalesce(array_agg(n), '{}') from (select count(*) as n from "+table+" where version = $1 group by xmin::text) as g", after)
	if err := inShards(groups, shards); err != nil {
		t.Fatal(err)
	}
	if len(groups) == 0 {
		return before
	}
	must(t, observer, "update "+table+" set version = $1 where version <> $1", after)
	return after
}

// inShards compares what is in, the numbers of rows that one transaction each wrote, with what the
// shards say: one without an error is in, one that is uncertain may be, and any other is not.
func inShards(groups []int, shards []pgbulk.Shard) error {
	left := slices.Clone(groups)
	take := func(n int) bool {
		i := slices.Index(left, n)
		if i >= 0 {
			left = slices.Delete(left, i, i+1)
		}
		return i >= 0
	}
	for _, s := range shards {
		if s.Err == nil && s.Rows > 0 && !take(s.Rows) {
			return fmt.Errorf("a shard of %d rows has no error and is not in: there are %v, of %+v", s.Rows, groups, shards)
		}
	}
	for _, s := range shards {
		if e, ok := errors.AsType[*pgbulk.Error](s.Err); ok && e.Uncertain {
			take(s.Rows)
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("transactions of %v rows are in that no shard accounts for: there are %v, of %+v", left, groups, shards)
	}
	return nil
}

// A shard that fails before it has a row undoes the others, even if none of the rows was for it.
func TestShardedFailsAtStart(t *testing.T) {
	observer := connect(t)
	killer := connect(t)
	config, err := pgxpool.ParseConfig(dsn(t, pgtest.Unix))
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = 2
	calls := 0
	config.PrepareConn = func(_ context.Context, conn *pgx.Conn) (bool, error) {
		if calls++; calls%2 == 0 { // the second shard's
			must(t, killer, "select pg_terminate_backend($1)", conn.PgConn().PID())
			gone(t, killer, conn.PgConn().PID())
		}
		return true, nil
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	v := newTable(t, observer, "id int primary key")
	to := pgbulk.Table{Name: v, Columns: []string{"id"}, Key: []string{"id"}}
	for i := range 20 {
		shards, err := pgbulk.UpsertSharded(t.Context(), pool, 2, to, pgbulk.Slice([][]any{{i}}), pgbulk.Options{Compression: compressed})
		if n := get[int](t, observer, "select count(*) from "+v.Sanitize()); err == nil || n != 0 {
			t.Fatalf("%d rows are in after error %v: %+v", n, err, shards)
		}
	}
}
