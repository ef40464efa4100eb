package load

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// That the server has closed a connection is seen before a request is written on it. A request that
// must not be sent twice is then not lost.
func TestServerClosesIdleConnections(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("tls=%v", secure), func(t *testing.T) {
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(w, r.Body)
			}))
			server.Config.IdleTimeout = time.Millisecond
			closed := make(chan struct{}, 8)
			server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
				if s == http.StateClosed {
					closed <- struct{}{}
				}
			}
			if secure {
				server.StartTLS()
			} else {
				server.Start()
			}
			defer server.Close()
			target := &Target{Proto: "http1", Conns: 1, Streams: 1, Request: Request{Method: http.MethodPost, Body: []byte("x"), URL: parsed(t, server.URL)}}
			target.TLS = &tls.Config{InsecureSkipVerify: true}
			pool := opened(t, target)
			for range 4 {
				if err := once(pool); err != nil {
					t.Error(err)
				}
				<-closed
				time.Sleep(2 * quiet) // busy connections are not looked at
			}
		})
	}
}

// A stream that the server refuses was not processed, and its request is sent again: RFC 9113
// section 8.7. If the server always refuses, the request fails.
func TestRefusedStream(t *testing.T) {
	t.Parallel()
	for _, forever := range []bool{false, true} {
		u := scripted(t, func(s *script, _ int) {
			_ = s.WriteSettings()
			for n := 0; ; n++ {
				id, _ := s.request()
				if id == 0 {
					return
				}
				if forever || n%2 == 0 {
					_ = s.WriteRSTStream(id, 7)
				} else {
					s.answer(id, ":status", "200")
				}
			}
		})
		r := sent(t, u, 4, 1, nil)
		if forever {
			wantOnly(t, r, 4, "the server reset the stream: REFUSED_STREAM")
		} else {
			wantOnly(t, r, 0, "")
		}
	}
}

// A connection is kept if no option forbids it, and for HTTP/1.0 only if an option asks for it: RFC
// 9112 section 9.3.
func TestConnectionOptions(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]bool{
		"HTTP/1.1 200 OK\r\nConnection: Upgrade, close\r\n":               false,
		"HTTP/1.1 200 OK\r\nConnection: Upgrade\r\nConnection: close\r\n": false,
		"HTTP/1.1 200 OK\r\nConnection: close\r\nConnection: x\r\n":       false,
		"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n":                   true,
		"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n":                   true,
		"HTTP/1.0 200 OK\r\n": false,
		"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 40_000) + "\r\n":      true,
		"HTTP/1.1 200 OK\r\nConnection: x, CLOSE ,\r\nKeep-Alive: max=5\r\n": false,
	} {
		var a http1Answer
		_, whole, err := a.feed([]byte(answer + "Content-Length: 0\r\n\r\n"))
		if !whole || a.status != 200 || a.keep != want || err != nil {
			t.Errorf("%.60q: %v, %d, kept %v, %v", answer, whole, a.status, a.keep, err)
		}
	}
}

// The server sends back what it gets as it comes, and reads nothing while nobody reads its answers.
// The run does not wait for it until the timeout.
func TestLargeEcho(t *testing.T) {
	t.Parallel()
	u := accepting(t, func(_ int, conn net.Conn) {
		in := bufio.NewReader(conn)
		for {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", r.ContentLength)
			if _, err := io.Copy(conn, r.Body); err != nil {
				return
			}
		}
	})
	pool := opened(t, &Target{Proto: "http1", Conns: 1, Streams: 1, Timeout: 2 * time.Minute, Request: Request{
		URL: u, Method: http.MethodPost, Body: make([]byte, 32<<20),
	}})
	for range 2 {
		if err := once(pool); err != nil {
			t.Fatal(err)
		}
	}
}

// A large request may follow another on the same connection, however long after: the time limit for
// writing the first does not apply to the second.
func TestLargeRequestsKeepTheirConnection(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		var conns atomic.Int64
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
		}))
		server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew {
				conns.Add(1)
			}
		}
		if secure {
			server.StartTLS()
		} else {
			server.Start()
		}
		t.Cleanup(server.Close)
		pool := opened(t, &Target{
			Proto: "http1", Conns: 1, Streams: 1, Timeout: time.Minute, TLS: &tls.Config{InsecureSkipVerify: true},
			Request: Request{Method: http.MethodPost, Body: make([]byte, 100_000), URL: parsed(t, server.URL)},
		})
		r := measured(t, Plan{Pacer: Constant{10, 500 * time.Millisecond}, Lines: pool.Lines})
		if r.Done != 5 || r.Failed() > 0 || conns.Load() != 1 {
			t.Errorf("tls %v: %d of %d failed over %d connections: %v", secure, r.Failed(), r.Done, conns.Load(), r.Errors)
		}
	}
}

// A server that closes its connections, or resets them, does so by one name, whatever client sends.
func TestClosedByOneName(t *testing.T) {
	t.Parallel()
	for _, reset := range []bool{false, true} {
		u := accepting(t, func(_ int, conn net.Conn) {
			_, _ = conn.Read(make([]byte, 16<<10))
			if reset {
				_ = conn.(*net.TCPConn).SetLinger(0)
			}
		})
		for _, target := range []Target{
			{Proto: "http1"}, {Proto: "http2"}, {Proto: "http1", Cookies: true}, {Proto: "http2", Cookies: true}, {Proto: "sse"}, {Proto: "websocket"},
		} {
			r := sent(t, u, 2, 1, func(to *Target) {
				to.Proto, to.Cookies = target.Proto, target.Cookies
				if target.Proto == "websocket" {
					socket := *u
					socket.Scheme = "ws"
					to.Request.URL = &socket
				}
			})
			if r.Errors[errEnded.Error()] != 2 {
				t.Errorf("%s, cookies %v, reset %v: %v", target.Proto, target.Cookies, reset, r.Errors)
			}
		}
	}
}
