//go:build linux

package pgbulk_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"postage/pgbulk"
)

// BenchmarkCalls measures whole calls on a real server, each a transaction of its own.
func BenchmarkCalls(b *testing.B) {
	conn := connect(b)
	table := newTable(b, conn, "id int8 primary key, at timestamptz, uid uuid, n numeric, name text")
	to := pgbulk.Table{Name: table, Columns: []string{"id", "at", "uid", "n", "name"}, Key: []string{"id"}}
	must(b, conn, "alter table "+table.Sanitize()+" set (autovacuum_enabled = off)")
	rows := make([][]any, 20_000)
	for i := range rows {
		rows[i] = []any{int64(i), time.Unix(int64(i), 0), [16]byte{byte(i)}, float64(i) / 4, fmt.Sprintf("name %d", i)}
	}
	for _, n := range []int{3, 100, 1000, 20_000} {
		for what, call := range map[string]callFunc{"insert": insert, "upsert": upsert, "update": update} {
			b.Run(fmt.Sprintf("call=%s/rows=%d", what, n), func(b *testing.B) {
				var cpu time.Duration
				for b.Loop() {
					b.StopTimer()
					must(b, conn, "truncate "+table.Sanitize(), pgx.QueryExecModeSimpleProtocol)
					if what != "insert" {
						if _, err := insert(b.Context(), conn, to, pgbulk.Slice(rows[:n]), settings{}); err != nil {
							b.Fatal(err)
						}
					}
					before := clientCPU() + backendCPU(b, conn)
					b.StartTimer()
					if _, err := call(b.Context(), conn, to, pgbulk.Slice(rows[:n]), settings{}); err != nil {
						b.Fatal(err)
					}
					b.StopTimer()
					cpu += clientCPU() + backendCPU(b, conn) - before
					b.StartTimer()
				}
				b.ReportMetric(float64(cpu)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

// BenchmarkFew measures inserts of so few rows that what a call costs by itself decides. The
// server's caches are warm. The strategies take turns with -count.
func BenchmarkFew(b *testing.B) {
	conn := connect(b)
	for _, inTx := range []bool{false, true} {
		for _, size := range []int{10, 16 << 10} {
			for _, n := range []int{1, 3, 10, 30, 100} {
				for _, s := range []pgbulk.Strategy{pgbulk.Auto, pgbulk.Bind, pgbulk.Copy} {
					b.Run(fmt.Sprintf("tx=%v/size=%d/rows=%d/strategy=%s", inTx, size, n, name(s)), func(b *testing.B) {
						benchmarkFew(b, conn, inTx, size, n, s)
					})
				}
			}
		}
	}
}

func benchmarkFew(b *testing.B, conn *pgx.Conn, inTx bool, size, n int, s pgbulk.Strategy) {
	table := newTable(b, conn, "id int8 primary key, at timestamptz, uid uuid, n numeric, name text")
	must(b, conn, "alter table "+table.Sanitize()+" alter name set storage external")
	to := pgbulk.Table{Name: table, Columns: []string{"id", "at", "uid", "n", "name"}}
	id, text := int64(0), strings.Repeat("x", size)
	rows := pgbulk.Values(seq(n, func(i int) []any {
		id++
		return []any{id, time.Unix(id, 0), [16]byte{byte(i)}, float64(i) / 4, text}
	}))
	insert := func() {
		if _, err := insert(b.Context(), conn, to, rows, settings{Strategy: s}); err != nil {
			b.Fatal(err)
		}
	}
	for range 10 {
		insert()
	}
	if inTx {
		must(b, conn, "begin")
		defer must(b, conn, "rollback")
	}
	b.ResetTimer()
	before := clientCPU() + backendCPU(b, conn)
	for range b.N {
		insert()
	}
	b.ReportMetric(float64(clientCPU()+backendCPU(b, conn)-before)/float64(b.N), "cpu-ns/op")
}

// backendCPU is the CPU time of a connection's server process.
func backendCPU(t testing.TB, conn *pgx.Conn) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", conn.PgConn().PID()))
	var ns int64
	if _, scanErr := fmt.Sscan(string(stat), &ns); err != nil || scanErr != nil {
		t.Fatal(err, scanErr)
	}
	return time.Duration(ns)
}
