package load

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"postage/service/greeter"
	"postage/service/tlscert"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// engines runs a test with each of the implementations of HTTP/1.1 or HTTP/2.
func engines(t *testing.T, test func(t *testing.T, portable bool)) {
	for _, portable := range []bool{false, true} {
		t.Run(fmt.Sprintf("portable=%v", portable), func(t *testing.T) { test(t, portable) })
	}
}

// A server whose answers take long is not below its rate: all requests were sent on time.
func TestSlowAnswersDoNotLowerTheRate(t *testing.T) {
	t.Parallel()
	var senders []Sender
	for range 40 {
		senders = append(senders, senderFunc(func(context.Context) error { time.Sleep(time.Second); return nil }))
	}
	r, err := Run(t.Context(), Plan{Rate: 20, Duration: 5 * time.Second, Lines: lines(senders...)})
	if err != nil {
		t.Fatal(err)
	}
	if why := r.Shortfall(); why != "" || r.Achieved < 19.7 || r.Achieved > 20 {
		t.Errorf("%.1f/s, %q", r.Achieved, why)
	}
}

// But one that cannot take more is.
func TestShortfall(t *testing.T) {
	t.Parallel()
	r, err := Run(t.Context(), Plan{Rate: 100, Duration: time.Second, Patience: time.Millisecond, Lines: lines(
		senderFunc(func(context.Context) error { time.Sleep(20 * time.Millisecond); return nil }))})
	if err != nil {
		t.Fatal(err)
	}
	if r.Shortfall() == "" || r.Achieved > 60 {
		t.Errorf("%.1f/s, %q", r.Achieved, r.Shortfall())
	}
}

// That the server has closed a connection is seen before a request is written on it. A request that
// must not be sent twice is then not lost.
func TestServerClosesIdleConnections(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, portable bool) {
		for _, secure := range []bool{false, true} {
			t.Run(fmt.Sprintf("tls=%v", secure), func(t *testing.T) {
				server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(w, r.Body)
				}))
				server.Config.IdleTimeout = time.Millisecond
				if secure {
					server.StartTLS()
				} else {
					server.Start()
				}
				defer server.Close()
				target := &Target{portable: portable, Proto: "http1", Conns: 2, Streams: 1, Request: Request{Method: http.MethodPost, Body: []byte("x"), URL: parsed(t, server.URL)}}
				target.TLS = &tls.Config{InsecureSkipVerify: true}
				pool, err := Open(t.Context(), target)
				if err != nil {
					t.Fatal(err)
				}
				defer pool.Close()
				r, err := Run(t.Context(), Plan{Rate: 4, Duration: 2 * time.Second, Lines: pool.Lines})
				if err != nil || r.Failed() > 0 || r.Done != 8 {
					t.Errorf("%v, %d of %d failed: %v", err, r.Failed(), r.Done, r.Errors)
				}
			})
		}
	})
}

func parsed(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// hanging accepts connections, counts them, and never answers.
func hanging(t *testing.T) (u *url.URL, accepted *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	accepted = new(atomic.Int64)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			t.Cleanup(func() { conn.Close() })
		}
	}()
	return &url.URL{Scheme: "http", Host: l.Addr().String(), Path: "/"}, accepted
}

// A request has a time limit of its own: those that hang do not keep their connections for the rest
// of the run.
func TestTimeout(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, portable bool) {
		for _, proto := range []string{"http1", "http2", "http3"} {
			t.Run(proto, func(t *testing.T) {
				u, _ := hanging(t)
				if proto == "http3" {
					u.Scheme = "https" // nobody answers on that port
				}
				target := &Target{portable: portable, Proto: proto, Conns: 1, Streams: 1, Timeout: 100 * time.Millisecond, Request: Request{Method: http.MethodGet, URL: u}}
				pool, err := Open(t.Context(), target)
				if err != nil {
					t.Fatal(err)
				}
				defer pool.Close()
				r, err := Run(t.Context(), Plan{Rate: 5, Duration: time.Second, Patience: time.Minute, Lines: pool.Lines})
				if err != nil {
					t.Fatal(err)
				}
				// On a busy machine making the connection may take that long.
				if r.Done != 5 || r.Errors["no answer within 100ms"]+r.Errors["no connection within 100ms"] != 5 {
					t.Errorf("%d answers, errors %v", r.Done, r.Errors)
				}
				if r.Elapsed > 20*time.Second {
					t.Errorf("took %v", r.Elapsed)
				}
			})
		}
	})
}

// Some streams that hang do not take the connection from the others.
func TestTimeoutOfOneStream(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, portable bool) {
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
				if n%4 != 0 {
					s.answer(id, ":status", "200")
				}
			}
		})
		target := &Target{portable: portable, Proto: "http2", Conns: 1, Streams: 2, Timeout: 500 * time.Millisecond, Request: Request{Method: http.MethodGet, URL: u}}
		pool, err := Open(t.Context(), target)
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		r, err := Run(t.Context(), Plan{Rate: 50, Duration: 400 * time.Millisecond, Lines: pool.Lines})
		if err != nil || r.Done != 20 || r.Errors["no answer within 500ms"] != 5 || len(r.Errors) != 1 {
			t.Errorf("%v, %d answers, %v", err, r.Done, r.Errors)
		}
	})
}

// A stall is seen when it is interrupted: requests under way, and those that were due but could not
// be sent, count as at least as long as they have waited.
func TestInterruptDuringStandstill(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	time.AfterFunc(900*time.Millisecond, cancel)
	r, err := Run(ctx, Plan{Rate: 100, Duration: time.Hour, Lines: lines(senderFunc(func(ctx context.Context) error {
		if n++; n > 10 {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}))})
	if err != nil {
		t.Fatal(err)
	}
	if r.Done != 10 || r.Unanswered < 30 {
		t.Errorf("%d answered, %d not, want 10 and some 80", r.Done, r.Unanswered)
	}
	if p50 := time.Duration(r.Latency.ValueAtQuantile(50)); p50 < 100*time.Millisecond {
		t.Errorf("p50 is %v: the standstill is hidden", p50)
	}
}

// Connections are made before the first request is due.
func TestConnectedBefore(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, portable bool) {
		for _, proto := range []string{"http1", "http2"} {
			u, accepted := hanging(t)
			pool, err := Open(t.Context(), &Target{portable: portable, Proto: proto, Conns: 5, Streams: 1, Timeout: time.Minute, Request: Request{Method: http.MethodGet, URL: u}})
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			// One request, and all connections are open.
			if _, err := Run(t.Context(), Plan{Rate: 1, Duration: time.Second, Patience: time.Millisecond, Lines: pool.Lines}); err != nil {
				t.Fatal(err)
			}
			if n := accepted.Load(); n != 5 {
				t.Errorf("%s: %d connections, want 5", proto, n)
			}
		}
	})
}

// How busy the generator was is about the time in which it sent: an answer that comes long after
// does not make it less busy.
func TestBusyIsNotDiluted(t *testing.T) {
	burn := senderFunc(func(context.Context) error {
		for begin := time.Now(); time.Since(begin) < 5*time.Millisecond; {
		}
		return nil
	})
	slow := true
	straggler := senderFunc(func(context.Context) error {
		if slow {
			time.Sleep(2 * time.Second)
			slow = false
		}
		return nil
	})
	r, err := Run(t.Context(), Plan{Duration: 300 * time.Millisecond, Lines: lines(burn, straggler)})
	if err != nil {
		t.Fatal(err)
	}
	if r.CPU < 0 {
		t.Skip("the process's CPU time is not known here")
	}
	if r.Elapsed < 2*time.Second || r.busyFor < 300*time.Millisecond || r.busyFor > 1900*time.Millisecond {
		t.Errorf("busy in %v of %v, want 300ms of 2s", r.busyFor, r.Elapsed)
	}
	if want := r.busyCPU.Seconds() / r.busyFor.Seconds() / float64(r.Processors); r.Busy() != want || want == 0 {
		t.Errorf("busy %.2f, want %.2f", r.Busy(), want)
	}
}

// A percentile is shown only if the generator was on time at that percentile.
func TestLatenessOfTheTail(t *testing.T) {
	t.Parallel()
	r := fabricated()
	for range 100_000 {
		record(r.Latency, 10*time.Millisecond)
		record(r.Late, time.Microsecond)
		r.Done++
	}
	for range 50 {
		record(r.Late, 30*time.Millisecond)
	}
	if why := r.Invalid(); why != "" {
		t.Fatal(why)
	}
	var table strings.Builder
	if err := r.WriteTable(&table, "http1"); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(table.String(), "p99.9   10ms") || !strings.Contains(table.String(), "p99.99  n/a") || !strings.Contains(table.String(), "max     n/a") {
		t.Error(table.String())
	}
}

func fabricated() *Result {
	sum := newTally()
	return &Result{Rate: 100, Achieved: 100, Planned: 100, Elapsed: time.Second, Processors: 2, CPU: time.Second, Latency: sum.latency, Late: sum.late}
}

// What differs from one request to the next does not make another reason, and there are never more
// than a few reasons.
func TestReasonsAreFew(t *testing.T) {
	t.Parallel()
	n := 0
	r, err := Run(t.Context(), Plan{Rate: 10000, Duration: 100 * time.Millisecond, Lines: lines(senderFunc(func(context.Context) error {
		n++
		if n%2 == 0 {
			return fmt.Errorf("order %d-7f3a90c1b2 is not known", 100000+n)
		}
		return errors.New(strings.Repeat("y", n))
	}))})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Errors) > mostReasons+1 || r.Failed() != 1000 || r.Errors["order …-… is not known"] != 500 {
		t.Errorf("%d reasons for %d failures", len(r.Errors), r.Failed())
	}
	for why, want := range map[string]string{
		"status 503": "status 503", "read udp [::]:41822": "read udp [::]:…", "no answer within 30s": "no answer within 30s",
		"id 6ba7b810-9dad-11d1-80b4-00c04fd430c8": "id …",
	} {
		if got := reason(errors.New(why)); got != want {
			t.Errorf("%q is %q, want %q", why, got, want)
		}
	}
}

// Counting for ten thousand connections does not take gigabytes.
func TestCountingIsSmall(t *testing.T) {
	var before, after runtime.MemStats
	all := make([]Line, 10_000)
	for i := range all {
		all[i] = OneAtATime(senderFunc(func(context.Context) error { return nil }))
	}
	runtime.ReadMemStats(&before)
	r, err := Run(t.Context(), Plan{Rate: 1000, Duration: 100 * time.Millisecond, Lines: all})
	runtime.ReadMemStats(&after)
	if err != nil || r.Done != 100 {
		t.Fatal(err, r.Done)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 100<<20 {
		t.Errorf("%d MB for 10,000 lines", took>>20)
	}
}

// One microsecond and one and a half are told apart.
func TestResolution(t *testing.T) {
	t.Parallel()
	sum := newTally()
	record(sum.latency, 1300*time.Nanosecond)
	if got := sum.latency.ValueAtQuantile(50); got < 1298 || got > 1302 {
		t.Errorf("1300 ns are %d", got)
	}
}

// A stream that the server refuses was not processed, and its request is sent again: RFC 9113
// section 8.7. If the server always refuses, the request fails.
func TestRefusedStream(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, portable bool) {
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
			r := sent(t, portable, u, 4, 1, nil)
			if forever {
				wantOnly(t, r, 4, "the server reset the stream: REFUSED_STREAM")
			} else {
				wantOnly(t, r, 0, "")
			}
		}
	})
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

// A name and password in the URL are sent, unless a header field says otherwise.
func TestUserinfo(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, portable bool) {
		var got atomic.Value
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			user, password, _ := r.BasicAuth()
			got.Store(user + " " + password)
		}))
		defer server.Close()
		u := parsed(t, server.URL)
		u.User = url.UserPassword("ann", "s3:cret")
		pool, err := Open(t.Context(), &Target{portable: portable, Proto: "http1", Conns: 1, Streams: 1, Request: Request{URL: u}})
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		if err := once(pool); err != nil || got.Load() != "ann s3:cret" {
			t.Errorf("%v, %q", err, got.Load())
		}
	})
}

// The server sends back what it gets as it comes, and reads nothing while nobody reads its answers.
// The run does not wait for it until the timeout.
func TestLargeEcho(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, portable bool) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					defer conn.Close()
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
				}()
			}
		}()
		pool, err := Open(t.Context(), &Target{portable: portable, Proto: "http1", Conns: 1, Streams: 1, Timeout: 20 * time.Second, Request: Request{
			URL: &url.URL{Scheme: "http", Host: l.Addr().String(), Path: "/"}, Method: http.MethodPost, Body: make([]byte, 32<<20),
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		for range 2 {
			if err := once(pool); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// At random times, requests come as often as asked for on average, and unevenly.
func TestPoisson(t *testing.T) {
	t.Parallel()
	var last time.Time
	var gaps []float64
	r, err := Run(t.Context(), Plan{Rate: 2000, Poisson: true, Duration: time.Second, Lines: []Line{lineFunc(func(_ context.Context, w *Work) {
		for {
			due, ok := w.Take(time.Time{})
			if !ok {
				return
			}
			if !last.IsZero() {
				gaps = append(gaps, due.Sub(last).Seconds())
			}
			last = due
			w.Done(due, due, 0, nil)
		}
	})}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Done < 1700 || r.Done > 2300 {
		t.Errorf("%d requests, want some 2000", r.Done)
	}
	var sum, squares float64
	for _, g := range gaps {
		sum += g
		squares += g * g
	}
	n := float64(len(gaps))
	if mean := sum / n; squares/n/mean/mean-1 < 0.7 || squares/n/mean/mean-1 > 1.4 { // an exponential distribution's is 1
		t.Errorf("the gaps' squared coefficient of variation is %.2f", squares/n/mean/mean-1)
	}
}

type lineFunc func(ctx context.Context, w *Work)

func (f lineFunc) Serve(ctx context.Context, w *Work) { f(ctx, w) }

// inUse returns the memory in use, in bytes.
func inUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// A kept connection takes at most 40 KB, whatever its protocol, with TLS or without.
func TestMemoryPerConnection(t *testing.T) {
	pair, err := tlscert.New(tlscert.ECDSAP256)
	if err != nil {
		t.Fatal(err)
	}
	engines(t, func(t *testing.T, portable bool) {
		const conns = 400
		for _, proto := range []string{"http1", "http2", "http2 over TLS"} {
			config := greeter.Config{Server: "nethttp", Body: "json"}
			target := &Target{portable: portable, Conns: conns, Streams: 1, Timeout: time.Minute, Request: Request{
				Method: http.MethodPost, Body: []byte(`{"secure":"raw"}`), URL: &url.URL{Scheme: "http", Path: "/"},
			}}
			var secure bool
			if target.Proto, _, secure = strings.Cut(proto, " over "); secure {
				config.Cert, target.Request.URL.Scheme = pair, "https"
				target.TLS = &tls.Config{RootCAs: pair.Pool(), ServerName: tlscert.ServerName}
			}
			server, err := greeter.Start(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			target.Request.URL.Host = server.Addr
			before := inUse()
			pool, err := Open(t.Context(), target)
			if err != nil {
				t.Fatal(err)
			}
			// All of them have had requests, and none has one under way, however busy the machine.
			r, err := Run(t.Context(), Plan{Rate: 2000, Duration: 400 * time.Millisecond, Lines: pool.Lines})
			if err != nil || r.Failed() > 0 {
				t.Fatalf("%v, %+v", err, r)
			}
			kept := inUse()
			// The race detector empties sync.Pools at random, so that memory is not the same there.
			if each := (float64(kept) - float64(before)) / conns; each > 40<<10 && !raceEnabled {
				t.Errorf("%s: %.0f KB a connection", proto, each/1024)
			} else {
				t.Logf("%s: %.1f KB a connection", proto, each/1024)
			}
			if err := pool.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// A run whose requests are all answered long before its end does not count as busy to the end.
func TestBusyOfAShortRun(t *testing.T) {
	t.Parallel()
	r, err := Run(t.Context(), Plan{Rate: 1, Duration: 500 * time.Millisecond, Lines: lines(senderFunc(func(context.Context) error {
		for begin := time.Now(); time.Since(begin) < 20*time.Millisecond; {
		}
		return nil
	}))})
	if err != nil || r.busyFor < 500*time.Millisecond {
		t.Errorf("%v, busy for %v", err, r.busyFor)
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
		pool, err := Open(t.Context(), &Target{
			Proto: "http1", Conns: 1, Streams: 1, Timeout: 3 * time.Second, TLS: &tls.Config{InsecureSkipVerify: true},
			Request: Request{Method: http.MethodPost, Body: make([]byte, 100_000), URL: parsed(t, server.URL)},
		})
		if err != nil {
			t.Fatal(err)
		}
		r, err := Run(t.Context(), Plan{Rate: 10, Duration: 500 * time.Millisecond, Lines: pool.Lines})
		if err != nil || r.Done != 5 || r.Failed() > 0 || conns.Load() != 1 {
			t.Errorf("tls %v: %v, %d of %d failed over %d connections: %v", secure, err, r.Failed(), r.Done, conns.Load(), r.Errors)
		}
		_ = pool.Close()
		server.Close()
	}
}

// A connection that takes too long is reported as that, whichever deadline passes first: the
// context's, package net's or the socket's.
func TestLateConnection(t *testing.T) {
	t.Parallel()
	u, _ := hanging(t)
	for _, limit := range []time.Duration{time.Nanosecond, 20 * time.Microsecond, 100 * time.Microsecond} {
		dial := (&Target{Proto: "http1", Timeout: limit, Request: Request{URL: u}}).dial("http/1.1")
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
