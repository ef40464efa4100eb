package pgbulk_test

import (
	"context"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"postage/pgbulk"
	"postage/pgbulk/pgtest"
)

// proxy passes bytes to the server and cuts the connection after as many as it is told.
type proxy struct {
	listener net.Listener
	left     atomic.Int64 // bytes to the server until the cut; negative is never
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
	p.left.Store(-1)
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
			all.Go(func() { io.Copy(client, upstream); client.Close() })
			all.Go(func() { p.pass(client, upstream) })
		}
	})
	t.Cleanup(func() { l.Close(); all.Wait() })
	return p
}

func (p *proxy) pass(client, upstream net.Conn) {
	defer client.Close()
	defer upstream.Close()
	buf := make([]byte, 16<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		if left := p.left.Load(); left >= 0 {
			if int64(n) >= left {
				upstream.Write(buf[:left])
				// No farewell: a reset on both sides, as of a cable that was pulled and plugged in again.
				client.(*net.TCPConn).SetLinger(0)
				upstream.(*net.TCPConn).SetLinger(0)
				return
			}
			p.left.Store(left - int64(n))
		}
		if _, err := upstream.Write(buf[:n]); err != nil {
			return
		}
	}
}

// connect connects through the proxy, without a cut.
func (p *proxy) connect(t testing.TB) *pgx.Conn {
	t.Helper()
	p.left.Store(-1)
	config, err := pgx.ParseConfig(dsn(t, pgtest.TCP))
	if err != nil {
		t.Fatal(err)
	}
	config.Port = uint16(p.listener.Addr().(*net.TCPAddr).Port)
	conn, err := pgx.ConnectConfig(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) }) // before the proxy's, which waits for it
	return conn
}

// TestConnectionReset cuts the connection at every 64 KB, in each strategy; in ways of writing other than Upsert at every 256 KB, or with
// POSTAGE_LONG at as many places.
func TestConnectionReset(t *testing.T) {
	observer := connect(t)
	for _, s := range []pgbulk.Strategy{pgbulk.Bind, pgbulk.Copy, pgbulk.Unnest} {
		for _, how := range writings {
			if testing.Short() && how.name != "upsert" {
				continue
			}
			t.Run(name(s)+"/"+how.name, func(t *testing.T) {
				p := newProxy(t)
				v := newVersioned(t, observer, 400, 4000)
				size := int64(v.rows * (4000 + 20))
				step := int64(64 << 10)
				if how.name != "upsert" && os.Getenv("POSTAGE_LONG") == "" {
					step = 256 << 10
				}
				version, errs := 0, 0
				for at := int64(0); at <= size+128<<10; at += step {
					conn := p.connect(t)
					p.left.Store(at)
					err := how.write(t.Context(), conn, v, v.rowsAt(version+1), pgbulk.Options{Strategy: s}, func() error { return nil })
					p.left.Store(-1)
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
		for at := int64(0); at <= 1<<20+128<<10; at += 64 << 10 {
			conn := p.connect(t)
			p.left.Store(at)
			_, err := pgbulk.Exec(t.Context(), conn, "update "+v.table.Name.Sanitize()+" set version = $1, pad = $2", version+1, v.pad)
			p.left.Store(-1)
			version = v.check(t, observer, conn, err, version, version+1)
			conn.Close(t.Context())
		}
	})
}
