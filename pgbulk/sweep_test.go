//go:build unix

package pgbulk_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"postage/pgbulk"
)

// TestSweep finds the row size and the number of rows from which one strategy is better than
// another. It prints the CPU time of client and backend together, in ms, medians of nine calls in
// random order; wall time would depend on what else the machine does.
//
//	POSTAGE_LONG=hours go test -run TestSweep -v ./pgbulk
func TestSweep(t *testing.T) {
	if os.Getenv("POSTAGE_LONG") != "hours" {
		t.Skip("set POSTAGE_LONG=hours to measure")
	}
	conn := connect(t)
	must(t, conn, "set default_toast_compression = pglz")
	t.Log("upserts of 6 MB of rows that exist, by bytes a row")
	for _, size := range []int{100, 200, 400, 600, 800, 1000, 1200, 1600, 2400, 4000} {
		sweep(t, conn, 6_000_000/size, size, true)
	}
	t.Log("the same, of rows that do not exist")
	for _, size := range []int{100, 400, 800, 1200, 2400} {
		sweep(t, conn, 6_000_000/size, size, false)
	}
	t.Log("upserts of rows of 100 bytes that exist, by number of rows")
	for _, n := range []int{3, 10, 30, 100, 300, 1000, 2000} {
		sweep(t, conn, n, 100, true)
	}
	t.Log("upserts of rows of 1000 bytes that exist, by number of rows")
	for _, n := range []int{3, 10, 30, 100, 200} {
		sweep(t, conn, n, 1000, true)
	}
}

// sweep measures each strategy and pgx's Exec on n rows of about size bytes.
func sweep(t *testing.T, conn *pgx.Conn, n, size int, exist bool) {
	table := newTable(t, conn, pageColumns)
	rows := sweepRows(n, size)
	to := pgbulk.Table{Name: table, Columns: []string{"id", "colA", "colB", "colC", "colD"}, Key: []string{"id"}}
	upsert := func(s pgbulk.Strategy) func() error {
		return func() error {
			_, err := upsert(t.Context(), conn, to, pgbulk.Slice(rows), settings{Strategy: s})
			return err
		}
	}
	ways := []struct {
		name  string
		write func() error
	}{
		{"pgx.Exec", func() error {
			return pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
				for part := range slices.Chunk(rows, 13_107) {
					sql, args := pageStatement(table, part)
					if _, err := tx.Exec(t.Context(), sql, args...); err != nil {
						return err
					}
				}
				return nil
			})
		}},
		{"Bind", upsert(pgbulk.Bind)}, {"Unnest", upsert(pgbulk.Unnest)}, {"Copy", upsert(pgbulk.Copy)}, {"Auto", upsert(pgbulk.Auto)},
	}
	if exist {
		if err := ways[1].write(); err != nil {
			t.Fatal(err)
		}
	}
	calls := max(1, 300/n) // enough for the clock
	costs := make([][]time.Duration, len(ways))
	for range 10 {
		for _, i := range rand.Perm(len(ways)) {
			if exist {
				must(t, conn, "vacuum "+table.Sanitize())
			} else {
				must(t, conn, "truncate "+table.Sanitize())
			}
			before := bothCPU(t, conn)
			for range calls {
				if err := ways[i].write(); err != nil {
					t.Fatal(err)
				}
			}
			costs[i] = append(costs[i], (bothCPU(t, conn)-before)/time.Duration(calls))
		}
	}
	line := fmt.Sprintf("%6d rows of %4d bytes:", n, size)
	for i, way := range ways {
		cost := costs[i][1:] // the first call warms up
		slices.Sort(cost)
		line += fmt.Sprintf("  %s %.2f", way.name, float64(cost[len(cost)/2].Microseconds())/1000)
	}
	t.Log(line)
}

// sweepRows are rows of the page's table whose documents are words.
func sweepRows(n, size int) [][]any {
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("the of and to a in is for that with on as be by this order customer product price quantity address street city warehouse leather recommended adjustable compatible")
	const others = 4*10 + len(`{ "foo": "" }`)
	rows := make([][]any, n)
	for i := range rows {
		var b strings.Builder
		b.WriteString(`{ "foo": "`)
		for b.Len() < size-others {
			b.WriteString(words[r.IntN(len(words))] + " " + strconv.Itoa(r.IntN(1000)) + " ")
		}
		b.WriteString(`" }`)
		rows[i] = []any{strconv.Itoa(1e9 + i), strconv.Itoa(1e9 + r.IntN(1e9)), strconv.Itoa(1e9 + r.IntN(1e9)), strconv.Itoa(1e9 + r.IntN(1e9)), b.String()}
	}
	return rows
}

// bothCPU is the CPU time of this process and of the connection's backend, which has one thread,
// see proc(5) on schedstat.
func bothCPU(t *testing.T, conn *pgx.Conn) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", conn.PgConn().PID()))
	if err != nil {
		t.Skip(err)
	}
	first, _, _ := strings.Cut(string(text), " ")
	ns, err := strconv.ParseInt(first, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return clientCPU() + time.Duration(ns)
}
