package load

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"
	"time"
)

// hanging accepts connections, counts them, and never answers.
func hanging(t *testing.T) (u *url.URL, accepted *atomic.Int64) {
	t.Helper()
	accepted = new(atomic.Int64)
	return accepting(t, func(_ int, conn net.Conn) {
		accepted.Add(1)
		<-t.Context().Done()
	}), accepted
}

// await waits until a condition holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for until := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("a minute later: not %s", what)
		}
	}
}

// A request has a time limit of its own: those that hang do not keep their connections for the rest
// of the run.
func TestTimeout(t *testing.T) {
	t.Parallel()
	for _, proto := range []string{"http1", "http2"} {
		t.Run(proto, func(t *testing.T) {
			u, _ := hanging(t)
			target := &Target{Proto: proto, Conns: 1, Streams: 1, Timeout: 100 * time.Millisecond, Request: Request{Method: http.MethodGet, URL: u}}
			pool := opened(t, target)
			r := measured(t, Plan{Pacer: Constant{5, time.Second}, Patience: time.Minute, Lines: pool.Lines})
			// On a busy machine making the connection may take that long.
			if r.Done != 5 || r.Errors["no answer within 100ms"]+r.Errors["no connection within 100ms"] != 5 {
				t.Errorf("%d answers, errors %v", r.Done, r.Errors)
			}
		})
	}
}

// Some streams that hang do not take the connection from the others.
func TestTimeoutOfOneStream(t *testing.T) {
	t.Parallel()
	u := scripted(t, func(s *script, connection int) {
		_ = s.WriteSettings()
		for n := 0; ; n++ {
			id, _ := s.request()
			if id == 0 {
				return
			}
			if connection > 0 {
				s.t.Error("a second connection was made")
			}
			if n%10 != 0 {
				s.answer(id, ":status", "200")
			}
		}
	})
	target := &Target{Proto: "http2", Conns: 1, Streams: 2, Timeout: 3 * time.Second, Request: Request{Method: http.MethodGet, URL: u}}
	pool := opened(t, target)
	r, err := Run(t.Context(), Plan{Pacer: Constant{50, 400 * time.Millisecond}, Lines: pool.Lines})
	if err != nil || r.Done != 20 || r.Errors["no answer within 3s"] != 2 || len(r.Errors) != 1 {
		t.Errorf("%v, %d answers, %v", err, r.Done, r.Errors)
	}
}

// Connections are made before the first request is due.
func TestConnectedBefore(t *testing.T) {
	t.Parallel()
	for _, proto := range []string{"http1", "http2"} {
		u, accepted := hanging(t)
		pool := opened(t, &Target{Proto: proto, Conns: 5, Streams: 1, Timeout: time.Minute, Request: Request{Method: http.MethodGet, URL: u}})
		// One request, and all connections are open.
		if _, err := Run(t.Context(), Plan{Pacer: Constant{1, time.Second}, Patience: time.Millisecond, Lines: pool.Lines}); err != nil {
			t.Fatal(err)
		}
		await(t, proto+": five connections", func() bool { return accepted.Load() >= 5 })
		if n := accepted.Load(); n != 5 {
			t.Errorf("%s: %d connections, want 5", proto, n)
		}
	}
}

// A connection that takes too long is reported as that, whichever deadline passes first: the
// context's, package net's or the socket's.
func TestLateConnection(t *testing.T) {
	t.Parallel()
	u, _ := hanging(t)
	for _, limit := range []time.Duration{time.Nanosecond, 20 * time.Microsecond, 100 * time.Microsecond} {
		dial := (&Target{Proto: "http1", Timeout: limit, Request: Request{URL: u}, meter: new(meter)}).dial("http/1.1")
		for range 300 {
			conn, err := dial(t.Context())
			if err == nil {
				conn.Close()
			} else if want := fmt.Sprintf("no connection within %v", limit); err.Error() != want {
				t.Fatalf("%v, want %q", err, want)
			}
		}
	}
}
