package pgbulk_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"postage/pgbulk"
)

// TestRandomFaults has something go wrong at a random point, very often.
func TestRandomFaults(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 100
	}
	observer := connect(t)
	p := newProxy(t)
	v := newVersioned(t, observer, 300, 900)
	conn := p.connect(t)
	defer func() { conn.Close(context.Background()) }()
	version := 0
	counts := map[string]int{}
	var what string
	defer func() {
		if t.Failed() {
			t.Log("last fault: ", what)
		}
	}()
	for i := range n {
		if conn.IsClosed() {
			conn = p.connect(t)
		}
		o := pgbulk.Options{Strategy: strategies[rand.IntN(len(strategies))], ChunkBytes: []int{0, 5000, 50_000}[rand.IntN(3)]}
		ctx, cancel := context.WithCancel(t.Context())
		rows := v.rowsAt(version + 1)
		how := writings[rand.IntN(len(writings))]
		returned := func() error { return nil }
		row := rand.IntN(v.rows)
		delay := time.Duration(rand.IntN(12_000)) * time.Microsecond
		var kind string
		var background sync.WaitGroup
		switch rand.IntN(10) {
		case 0:
			kind = "none"
		case 1:
			kind = "cut"
			p.left.Store(rand.Int64N(320_000))
		case 2:
			kind = "terminate"
			pid := conn.PgConn().PID()
			background.Go(func() {
				time.Sleep(delay)
				observer.Exec(context.Background(), "select pg_terminate_backend($1)", pid)
			})
		case 3:
			kind = "cancel"
			background.Go(func() {
				time.Sleep(delay)
				cancel()
			})
		case 4:
			kind = "timeout"
			must(t, conn, fmt.Sprintf("set statement_timeout = %d", 1+rand.IntN(12)))
		case 5:
			kind = "source"
			rows = func(yield func([]any, error) bool) {
				for i := range row {
					if !yield([]any{i, version + 1, v.pad}, nil) {
						return
					}
				}
				yield(nil, errors.New("the source is dry"))
			}
		case 6:
			kind = "panic"
			rows = func(yield func([]any, error) bool) {
				for i := range v.rows {
					if i == row {
						panic("the source is mad")
					}
					if !yield([]any{i, version + 1, v.pad}, nil) {
						return
					}
				}
			}
		case 7:
			kind = "violation"
			rows = func(yield func([]any, error) bool) {
				for i := range v.rows {
					next := version + 1
					if i == row {
						next = -1
					}
					if !yield([]any{i, next, v.pad}, nil) {
						return
					}
				}
			}
		case 8, 9:
			how = writings[3+rand.IntN(2)]
			if kind = "receiver"; rand.IntN(2) == 0 {
				kind = "receiver's panic"
			}
			n := 0
			returned = func() error {
				if n++; n <= row {
					return nil
				}
				if kind == "receiver" {
					return errors.New("the receiver is full")
				}
				panic("the receiver is mad")
			}
		}
		err := func() (err error) {
			defer func() {
				if r := recover(); r != nil {
					if r != "the source is mad" && r != "the receiver is mad" {
						panic(r)
					}
					err = &pgbulk.Error{Err: fmt.Errorf("%v", r), Row: -1, Closed: conn.IsClosed()}
				}
			}()
			return how.write(ctx, conn, v, rows, o, returned)
		}()
		background.Wait()
		p.left.Store(-1)
		cancel()
		what = fmt.Sprintf("%d %s, %s, strategy %q, delay %v: %v", i, kind, how.name, o.Strategy, delay, err)
		if kind == "terminate" {
			gone(t, observer, conn.PgConn().PID())
			if !conn.IsClosed() { // the call was over before
				conn.Close(context.Background())
			}
		}
		if kind == "timeout" && !conn.IsClosed() {
			// This may itself run into the timeout, and PostgreSQL may lay one that comes at the last moment at the door of
			// the next statement.
			for range 10 {
				_, err1 := conn.Exec(context.Background(), "set statement_timeout = 0")
				_, err2 := conn.Exec(context.Background(), "select 1")
				if err1 == nil && err2 == nil {
					break
				}
			}
		}
		switch outcome := kind + " noticed"; {
		case err == nil && kind == "none":
			counts[kind]++
		case err == nil:
			counts[kind+" too late"]++
		default:
			counts[outcome]++
			if kind == "none" {
				t.Fatal(err)
			}
			if kind == "violation" || kind == "source" {
				var e *pgbulk.Error
				if !errors.As(err, &e) || row < e.Row || row > e.LastRow {
					t.Fatalf("%s %s in row %d: %v", o.Strategy, kind, row, err)
				}
			}
		}
		version = v.check(t, observer, conn, err, version, version+1)
	}
	t.Log(counts)
}
