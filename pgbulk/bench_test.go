//go:build unix

package pgbulk_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"postage/pgbulk"
	"postage/pgbulk/pgtest/pgsink"
)

// The benchmarks write the page's upsert, 1000 rows of 16 KB, in several ways to a protocol sink in
// another process: that is the cost of the client alone. Postage's stage store gives better ratios,
// because its contenders take turns.

// contender is a way to write the page's rows.
type contender struct {
	name string
	// open returns what writes the rows once.
	open func(b testing.TB, conn *pgx.Conn, table pgx.Identifier, rows [][]any) func() error
}

func bulk(name string, o settings, source func([][]any) pgbulk.Source) contender {
	return contender{name, func(b testing.TB, conn *pgx.Conn, table pgx.Identifier, rows [][]any) func() error {
		t := pgbulk.Table{Name: table, Columns: pageTable, Key: []string{"id"}}
		return func() error {
			_, err := upsert(context.Background(), conn, t, source(rows), o)
			return err
		}
	}}
}

type pageRow struct {
	ID   string `db:"id"`
	A    string `db:"colA"`
	B    string `db:"colB"`
	C    string `db:"colC"`
	JSON string `db:"colD"`
}

var contenders = []contender{
	{"pgx.Exec", func(b testing.TB, conn *pgx.Conn, table pgx.Identifier, rows [][]any) func() error {
		sql, args := pageStatement(table, rows)
		return func() error {
			_, err := conn.Exec(context.Background(), sql, args...)
			return err
		}
	}},
	{"pgx.SendBatch", func(b testing.TB, conn *pgx.Conn, table pgx.Identifier, rows [][]any) func() error {
		sql, _ := pageStatement(table, rows[:1])
		return func() error {
			var batch pgx.Batch
			for _, r := range rows {
				batch.Queue(sql, r...)
			}
			return conn.SendBatch(context.Background(), &batch).Close()
		}
	}},
	{"pgx.CopyFrom", func(b testing.TB, conn *pgx.Conn, table pgx.Identifier, rows [][]any) func() error {
		ctx := context.Background()
		return func() error {
			tx, err := conn.Begin(ctx)
			if err != nil {
				return err
			}
			defer tx.Rollback(ctx)
			if _, err := tx.Exec(ctx, "create temporary table stage (like "+table.Sanitize()+" including storage including compression) on commit drop"); err != nil {
				return err
			}
			if _, err := tx.CopyFrom(ctx, pgx.Identifier{"stage"}, pageTable, pgx.CopyFromRows(rows)); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, "insert into "+table.Sanitize()+` select * from stage where true on conflict (id) do update set "colA" = excluded."colA", "colB" = excluded."colB", "colC" = excluded."colC", "colD" = excluded."colD"`); err != nil {
				return err
			}
			return tx.Commit(ctx)
		}
	}},
	{"floor", func(b testing.TB, conn *pgx.Conn, table pgx.Identifier, rows [][]any) func() error {
		sql, args := pageStatement(table, rows)
		if _, err := conn.Prepare(context.Background(), "floor", sql); err != nil {
			b.Fatal(err)
		}
		values := make([][]byte, len(args))
		for i, a := range args {
			values[i] = []byte(a.(string))
		}
		var message []byte
		for _, m := range []pgproto3.FrontendMessage{&pgproto3.Bind{PreparedStatement: "floor", Parameters: values}, &pgproto3.Execute{}, &pgproto3.Sync{}} {
			var err error
			if message, err = m.Encode(message); err != nil {
				b.Fatal(err)
			}
		}
		pc := conn.PgConn()
		return func() error {
			if _, err := pc.Conn().Write(message); err != nil {
				return err
			}
			for {
				m, err := pc.ReceiveMessage(context.Background())
				if err != nil {
					return err
				}
				switch m := m.(type) {
				case *pgproto3.ErrorResponse:
					return fmt.Errorf("%s", m.Message)
				case *pgproto3.ReadyForQuery:
					return nil
				}
			}
		}
	}},
	{"pgbulk.Exec", func(b testing.TB, conn *pgx.Conn, table pgx.Identifier, rows [][]any) func() error {
		sql, args := pageStatement(table, rows)
		return func() error {
			_, err := pgbulk.Exec(context.Background(), conn, sql, args...)
			return err
		}
	}},
	bulk("upsert", settings{}, pgbulk.Slice),
	bulk("upsert/bind", settings{Strategy: pgbulk.Bind}, pgbulk.Slice),
	bulk("upsert/copy", settings{Strategy: pgbulk.Copy}, pgbulk.Slice),
	bulk("upsert/structs", settings{}, func(rows [][]any) pgbulk.Source {
		return pgbulk.Structs(func(yield func(pageRow) bool) {
			for _, r := range rows {
				if !yield(pageRow{r[0].(string), r[1].(string), r[2].(string), r[3].(string), r[4].(string)}) {
					return
				}
			}
		})
	}),
}

// startSink starts the sink, which is this test binary again (see TestSinkProcess).
func startSink(t testing.TB) (dsn string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "pgsink")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestSinkProcess$")
	cmd.Env = append(os.Environ(), "POSTAGE_SINK="+filepath.Join(dir, ".s.PGSQL.5432"))
	stdin, err := cmd.StdinPipe() // its end tells the sink to stop
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		cmd.Wait()
		os.RemoveAll(dir)
	})
	if _, err := io.ReadFull(stdout, make([]byte, 6)); err != nil {
		t.Fatal("the sink does not start: ", err)
	}
	return "host=" + dir + " user=x dbname=x sslmode=disable"
}

func TestSinkProcess(t *testing.T) {
	socket := os.Getenv("POSTAGE_SINK")
	if socket == "" {
		t.Skip("runs only as a child process")
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout.WriteString("ready\n")
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	(&pgsink.Server{Types: map[string]uint32{"colD": 3802}}).Serve(l)
}

// clientCPU is the CPU time of this process, user and system.
func clientCPU() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func openConn(t testing.TB, dsn string) *pgx.Conn {
	conn, err := pgx.Connect(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func BenchmarkSink(b *testing.B) {
	dsn := startSink(b)
	rows := pageData(pageRows, 16384, 1)
	for _, c := range contenders {
		b.Run(c.name, func(b *testing.B) { measure(b, c, openConn(b, dsn), pgx.Identifier{"t"}, rows) })
	}
}

func measure(b *testing.B, c contender, conn *pgx.Conn, table pgx.Identifier, rows [][]any) {
	run := c.open(b, conn, table, rows)
	if err := run(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetBytes(16 << 20)
	before := clientCPU()
	for b.Loop() {
		if err := run(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(clientCPU()-before)/float64(b.N), "client-cpu-ns/op")
}
