package pgbulk_test

import (
	"context"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"postage/pgbulk"
	"postage/pgbulk/pgtest"
)

// proxy passes bytes to the server and back, and cuts connections after a given number of them.
type proxy struct {
	listener net.Listener
	left     atomic.Int64 // bytes to the server until the cut, over all connections; negative is never
	back     atomic.Int64 // and from the server
	one      atomic.Bool  // cut only the connection that comes to it first, and not each that sends more
	counting sync.Mutex
}

func newProxy(t testing.TB) *proxy {
	t.Helper()
	config, err := pgx.ParseConfig(dsn(t, pgtest.TCP))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l}
	p.heal()
	var all sync.WaitGroup
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			upstream, err := net.Dial("tcp", net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))))
			if err != nil {
				client.Close()
				continue
			}
			all.Go(func() { p.pass(upstream, client, &p.back) })
			all.Go(func() { p.pass(client, upstream, &p.left) })
		}
	})
	t.Cleanup(func() { l.Close(); all.Wait() })
	return p
}

// heal has no connection cut from here on.
func (p *proxy) heal() {
	p.left.Store(-1)
	p.back.Store(-1)
}

// take counts n bytes that are to be passed. It returns how many are, and whether the connection is
// cut after them.
func (p *proxy) take(left *atomic.Int64, n int) (int, bool) {
	p.counting.Lock()
	defer p.counting.Unlock()
	switch l := left.Load(); {
	case l < 0:
		return n, false
	case int64(n) <= l: // a cut behind the last byte of an answer would be nobody's error
		left.CompareAndSwap(l, l-int64(n)) // unless it has been healed meanwhile
		return n, false
	default:
		if p.one.Load() {
			left.CompareAndSwap(l, -1)
		}
		return int(l), true
	}
}

func (p *proxy) pass(from, to net.Conn, left *atomic.Int64) {
	defer from.Close()
	defer to.Close()
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		n, cut := p.take(left, n)
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
		if cut {
			// No orderly close: a reset on both sides, as when a cable was unplugged.
			from.(*net.TCPConn).SetLinger(0)
			to.(*net.TCPConn).SetLinger(0)
			return
		}
	}
}

// config makes connections through the proxy.
func (p *proxy) config(t testing.TB) *pgxpool.Config {
	t.Helper()
	config, err := pgxpool.ParseConfig(dsn(t, pgtest.TCP))
	if err != nil {
		t.Fatal(err)
	}
	config.ConnConfig.Port = uint16(p.listener.Addr().(*net.TCPAddr).Port)
	return config
}

// connect connects through the proxy, without a cut.
func (p *proxy) connect(t testing.TB) *pgx.Conn {
	t.Helper()
	p.heal()
	conn, err := pgx.ConnectConfig(context.Background(), p.config(t).ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) }) // before the proxy's, which waits for it
	return conn
}

// TestConnectionReset cuts the connection at every 64 KB, in each strategy and way of writing;
// without POSTAGE_LONG at fewer places, and each way but the upsert in one strategy.
func TestConnectionReset(t *testing.T) {
	t.Parallel()
	observer := connect(t)
	for i, s := range []pgbulk.Strategy{pgbulk.Bind, pgbulk.Copy, pgbulk.Unnest} {
		for j, how := range writings {
			if !longRun() && j > 0 && (i+j)%3 > 0 {
				continue
			}
			t.Run(name(s)+"/"+how.name, func(t *testing.T) {
				p := newProxy(t)
				v := newVersioned(t, observer, 400, 4000)
				size := int64(v.rows * (4000 + 20))
				step := int64(short(512<<10, 64<<10))
				if how.name == "upsert" {
					step = int64(short(256<<10, 64<<10))
				}
				version, errs := 0, 0
				for at := int64(0); at <= size+128<<10; at += step {
					conn := p.connect(t)
					p.left.Store(at)
					err := how.write(t.Context(), conn, v, v.rowsAt(version+1), settings{Strategy: s}, func() error { return nil })
					p.heal()
					if err != nil {
						errs++
					}
					version = v.check(t, observer, conn, err, version, version+1)
					conn.Close(t.Context())
				}
				if want := int(size / step); errs < want {
					t.Errorf("%d cuts of %d were noticed", errs, want)
				}
			})
		}
	}
	t.Run("exec", func(t *testing.T) {
		p := newProxy(t)
		v := newVersioned(t, observer, 1, 1<<20)
		version := 0
		for at := int64(0); at <= 1<<20+128<<10; at += int64(short(256<<10, 64<<10)) {
			conn := p.connect(t)
			p.left.Store(at)
			_, err := pgbulk.Exec(t.Context(), conn, "update "+v.table.Name.Sanitize()+" set version = $1, pad = $2", version+1, v.pad)
			p.left.Store(-1)
			version = v.check(t, observer, conn, err, version, version+1)
			conn.Close(t.Context())
		}
	})
}
