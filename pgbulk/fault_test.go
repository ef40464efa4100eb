package pgbulk_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"postage/pgbulk"

	"github.com/jackc/pgx/v5"
)

// spoiled are rows of a version with a fault in one of them, or the rows as they are if the fault
// is not the source's.
func (v *versioned) spoiled(kind string, row, version int) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for i := range v.rows {
			next, err := version, error(nil)
			if i == row {
				switch kind {
				case "source":
					err = errors.New("the source is dry")
				case "panic":
					panic("the source is mad")
				case "violation":
					next = -1
				}
			}
			if !yield([]any{i, next, v.pad}, err) || err != nil {
				return
			}
		}
	}
}

// recovered makes a call, and turns the panics of tests' sources and receivers into errors.
func recovered(conn *pgx.Conn, call func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			if r != "the source is mad" && r != "the receiver is mad" {
				panic(r)
			}
			err = &pgbulk.Error{Err: fmt.Errorf("%v", r), Row: -1, Closed: conn != nil && conn.IsClosed()}
		}
	}()
	return call()
}

// settleTimeout ends a statement_timeout.
func settleTimeout(conn *pgx.Conn) {
	// This may itself run into the timeout, and PostgreSQL may report a late timeout for the next
	// statement.
	for range 10 {
		_, err1 := conn.Exec(context.Background(), "set statement_timeout = 0")
		_, err2 := conn.Exec(context.Background(), "select 1")
		if err1 == nil && err2 == nil {
			return
		}
	}
}

// TestRandomFaults injects faults at random points, with POSTAGE_LONG very often.
func TestRandomFaults(t *testing.T) {
	n := short(40, 700)
	observer := connect(t)
	p := newProxy(t)
	v := newVersioned(t, observer, 300, 900)
	conn := p.connect(t)
	defer func() { conn.Close(context.Background()) }()
	giving := slices.DeleteFunc(slices.Clone(writings), func(w writing) bool { return !strings.HasSuffix(w.name, " returning") })
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
		o := settings{Strategy: strategies[rand.IntN(len(strategies))], ChunkBytes: []int{0, 5000, 50_000}[rand.IntN(3)]}
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
			if p.left.Store(rand.Int64N(320_000)); rand.IntN(2) == 0 {
				kind = "answer lost"
				p.heal()
				p.back.Store(rand.Int64N(600))
			}
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
		case 5, 6, 7:
			kind = []string{"source", "panic", "violation"}[rand.IntN(3)]
			rows = v.spoiled(kind, row, version+1)
		case 8, 9:
			how = giving[rand.IntN(len(giving))]
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
		err := recovered(conn, func() error { return how.write(ctx, conn, v, rows, o, returned) })
		background.Wait()
		p.heal()
		cancel()
		what = fmt.Sprintf("%d %s, %s, strategy %q, delay %v: %v", i, kind, how.name, o.Strategy, delay, err)
		if kind == "terminate" {
			gone(t, observer, conn.PgConn().PID())
			if !conn.IsClosed() { // the call was over before
				conn.Close(context.Background())
			}
		}
		if kind == "timeout" && !conn.IsClosed() {
			settleTimeout(conn)
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
				if !errors.As(err, &e) || row < e.Row || row > e.LastRow && e.Row >= 0 || kind == "source" && e.Row < 0 {
					t.Fatalf("%s %s in row %d: %v", o.Strategy, kind, row, err)
				}
			}
		}
		version = v.check(t, observer, conn, err, version, version+1)
	}
	t.Log(counts)
}
