package load

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"postage/internal/service/greeter"
	"postage/internal/service/tlscert"
)

// opened opens a target until the test ends.
func opened(t *testing.T, target *Target) *Pool {
	t.Helper()
	pool, err := Open(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	return pool
}

// measured carries out a plan.
func measured(t *testing.T, p Plan) *Result {
	t.Helper()
	r, err := Run(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func parsed(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// accepting is a server that handles connection n, from 0, and then closes it.
func accepting(t *testing.T, handle func(n int, conn net.Conn)) *url.URL {
	l := listen(t)
	go func() {
		for n := 0; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				handle(n, conn)
			}()
		}
	}()
	return &url.URL{Scheme: "http", Host: l.Addr().String(), Path: "/there"}
}

// serving starts a server of HTTP/1.1 and HTTP/2 without TLS.
func serving(t *testing.T, handler http.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	return server
}

func certificate(t *testing.T) *tlscert.Pair {
	t.Helper()
	pair, err := tlscert.New(tlscert.ECDSAP256)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// greet starts the built-in server.
func greet(t *testing.T, config greeter.Config) *greeter.Process {
	t.Helper()
	server, err := greeter.Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return server
}
