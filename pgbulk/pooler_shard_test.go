//go:build unix

package pgbulk_test

import (
	"context"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"postage/pgbulk"
)

// TestPoolerSharded is TestPooler for UpsertSharded: 4 clients with a pool of 2 connections each,
// and as many server connections, because a client that has one of its two keeps it while it waits
// for the other.
func TestPoolerSharded(t *testing.T) {
	path, major, minor := pgbouncer(t)
	const clients, each, rows = 4, 6, 20 // calls of a client in a cell, 480 together; rows of a call
	type result struct {
		shards []pgbulk.Shard
		err    error
	}
	for support, setting := range supports(t, major, minor) {
		p := startPgBouncer(t, path, setting+"\ndefault_pool_size = 8")
		for i, mode := range modes {
			for j, compression := range []pgbulk.Compression{"", compressed} {
				if !longRun() && (i+j)%2 > 0 {
					continue
				}
				observer := connect(t)
				tables := [2]pgx.Identifier{newTable(t, observer, "id int primary key, call int, mark text"), newTable(t, observer, "id int primary key, call int, mark text")}
				var results [clients * each]result
				stop := sync.OnceFunc(killing(t))
				var all sync.WaitGroup
				for c := range clients {
					all.Go(func() {
						config, err := pgxpool.ParseConfig(p.dsn)
						if err != nil {
							t.Error(err)
							return
						}
						config.MaxConns = 2
						config.ConnConfig.DefaultQueryExecMode = mode
						pool, err := pgxpool.NewWithConfig(context.Background(), config)
						if err != nil {
							t.Error(err)
							return
						}
						defer pool.Close()
						table := tables[c%2]
						for i := range each {
							if i == each/2 {
								stop() // so that some go through, however slow the machine is
							}
							call := i*clients + c
							o := pgbulk.Options{Strategy: strategies[i%len(strategies)], ChunkRows: 1 + 100*(i%2), Compression: compression}
							source := pgbulk.Values(seq(rows, func(i int) []any { return []any{call*rows + i, call, table[0]} }))
							r := &results[call]
							r.shards, r.err = pgbulk.UpsertSharded(t.Context(), pool, 2, pgbulk.Table{Name: table, Columns: []string{"id", "call", "mark"}, Key: []string{"id"}}, source, o)
						}
					})
				}
				all.Wait()
				stop()
				settled(t, observer)
				killed, whole := 0, 0
				for call, r := range results {
					if r.err == nil {
						whole++
					} else if killed++; !byKill(r.err) {
						t.Errorf("prepared statements %s, %v, %q: %v", support, mode, compression, r.err)
					}
					table := tables[call%clients%2]
					groups := get[[]int](t, observer, "select coalesce(array_agg(n), '{}') from (select count(*) as n from "+table.Sanitize()+" where call = $1 group by xmin::text) as g", call)
					if err := inShards(groups, r.shards); err != nil {
						t.Errorf("prepared statements %s, %v, %q: %v", support, mode, compression, err)
					}
				}
				for i, table := range tables {
					if n := get[int](t, observer, "select count(*) from "+table.Sanitize()+" where mark <> $1 or call % $2 % 2 <> $3", table[0], clients, i); n != 0 {
						t.Errorf("prepared statements %s, %v, %q: %d rows in the wrong table", support, mode, compression, n)
					}
				}
				if whole == 0 {
					t.Errorf("prepared statements %s, %v, %q: no call went through", support, mode, compression)
				}
				t.Logf("prepared statements %s, %v, %q: %d calls, %d whole, %d ended by a kill", support, mode, compression, len(results), whole, killed)
			}
		}
	}
}
