//go:build unix

package pgbulk_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"postage/pgbulk"
)

type pageRow struct {
	ID   string `db:"id"`
	A    string `db:"colA"`
	B    string `db:"colB"`
	C    string `db:"colC"`
	JSON string `db:"colD"`
}

// TestAllocations compares the bytes that are allocated for the page's upsert: at most a hundredth
// of pgx.Exec's.
func TestAllocations(t *testing.T) {
	dsn := startSink(t)
	rows := pageData(pageRows, 16384, 1)
	ctx, table := t.Context(), pgbulk.Table{Name: pgx.Identifier{"t"}, Columns: pageTable, Key: []string{"id"}}
	sql, args := pageStatement(table.Name, rows)
	ways := map[string]func(conn *pgx.Conn) error{
		"pgx.Exec":    func(conn *pgx.Conn) error { _, err := conn.Exec(ctx, sql, args...); return err },
		"pgbulk.Exec": func(conn *pgx.Conn) error { _, err := pgbulk.Exec(ctx, conn, sql, args...); return err },
		"structs": func(conn *pgx.Conn) error {
			_, err := upsert(ctx, conn, table, pgbulk.Structs(func(yield func(pageRow) bool) {
				for _, r := range rows {
					if !yield(pageRow{r[0].(string), r[1].(string), r[2].(string), r[3].(string), r[4].(string)}) {
						return
					}
				}
			}), settings{})
			return err
		},
	}
	for _, s := range strategies {
		ways[name(s)] = func(conn *pgx.Conn) error {
			_, err := upsert(ctx, conn, table, pgbulk.Slice(rows), settings{Strategy: s})
			return err
		}
	}
	allocated := map[string]float64{}
	for what, way := range ways {
		conn := openConn(t, dsn)
		run := func() error { return way(conn) }
		for range 2 {
			if err := run(); err != nil {
				t.Fatal(err)
			}
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 3 {
			if err := run(); err != nil {
				t.Fatal(err)
			}
		}
		runtime.ReadMemStats(&after)
		allocated[what] = float64(after.TotalAlloc-before.TotalAlloc) / 3
	}
	for name, bytes := range allocated {
		ratio := bytes / allocated["pgx.Exec"]
		t.Logf("%-24s %12.0f bytes %.5f", name, bytes, ratio)
		if name != "pgx.Exec" && ratio > 0.01 {
			t.Errorf("%s allocates %.4f of pgx.Exec's bytes, want at most 0.01", name, ratio)
		}
	}
}

// TestWritesAllocateNothing writes 20 MB in small rows: what is allocated must not grow with the
// number of writes, of which there are more than 300. The call itself and the process's other
// goroutines make 130 to 160 allocations.
func TestWritesAllocateNothing(t *testing.T) {
	conn := openConn(t, startSink(t))
	rows := make([][]any, 100_000)
	for i := range rows {
		rows[i] = []any{"id", "two hundred bytes " + strings.Repeat("x", 182)}
	}
	to := pgbulk.Table{Name: pgx.Identifier{"t"}, Columns: []string{"id", "payload"}}
	var before, after runtime.MemStats
	for range 2 { // the first makes buffers
		runtime.ReadMemStats(&before)
		if _, err := insert(t.Context(), conn, to, pgbulk.Slice(rows), settings{Strategy: pgbulk.Copy}); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
	}
	if n := after.Mallocs - before.Mallocs; n > 300 {
		t.Errorf("%d allocations, want at most 300", n)
	}
}

// TestFlatMemory writes 10 MB and 150 MB (1 GB with POSTAGE_LONG) of the page's rows to a sink,
// each in a fresh process, and compares the processes' peaks of resident memory.
func TestFlatMemory(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector has memory needs of its own")
	}
	large := short(150<<20, 1<<30)
	dsn := startSink(t)
	for _, strategy := range []pgbulk.Strategy{pgbulk.Auto, pgbulk.Copy} {
		var peaks []int
		for _, size := range []int{10 << 20, large} {
			cmd := exec.Command(os.Args[0], "-test.run=^TestFlatMemoryProcess$")
			cmd.Env = append(os.Environ(), "POSTAGE_FLAT="+dsn, fmt.Sprintf("POSTAGE_ROWS=%d", size/16500), "POSTAGE_STRATEGY="+string(strategy))
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			if err := cmd.Run(); err != nil {
				t.Fatal(err, stderr.String())
			}
			var peak int
			if _, err := fmt.Sscan(stderr.String(), &peak); err != nil {
				t.Fatal(err, stderr.String())
			}
			t.Logf("%s: %4d MB of rows: peak of %.1f MB resident", name(strategy), size>>20, float64(peak)/(1<<20))
			peaks = append(peaks, peak)
		}
		// Bind remembers 16 to 43 bytes a row, for keys that come again: 2 MB or so for the 65,000
		// rows of 1 GB.
		if more := peaks[1] - peaks[0]; more > 12<<20 {
			t.Errorf("%s: %d bytes more for the larger one", name(strategy), more)
		}
	}
}

func TestFlatMemoryProcess(t *testing.T) {
	dsn := os.Getenv("POSTAGE_FLAT")
	if dsn == "" {
		t.Skip("runs only as a child process")
	}
	var rows int
	fmt.Sscan(os.Getenv("POSTAGE_ROWS"), &rows)
	conn := openConn(t, dsn)
	table := pgbulk.Table{Name: pgx.Identifier{"t"}, Columns: pageTable, Key: []string{"id"}}
	row := pageData(1, 16384, 1)[0]
	source := pgbulk.Values(seq(rows, func(i int) []any {
		row[0] = fmt.Sprint(i)
		return row
	}))
	if _, err := upsert(context.Background(), conn, table, source, settings{Strategy: pgbulk.Strategy(os.Getenv("POSTAGE_STRATEGY"))}); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(os.Stderr, peakResident())
}

// peakResident is the process's peak of resident memory in bytes.
func peakResident() int {
	// Linux hands the parent's peak down to rusage, but not to /proc.
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		var kb int
		_, after, _ := strings.Cut(string(status), "VmHWM:")
		fmt.Sscan(after, &kb)
		return kb << 10
	}
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return int(u.Maxrss) // in bytes on macOS
}
