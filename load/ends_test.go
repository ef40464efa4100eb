package load

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"postage/internal/service/greeter"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// refuseTwice closes two of three connections when a request has come, or before the answer is
// complete.
func refuseTwice(t *testing.T) (u *url.URL, requests *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	requests = new(atomic.Int64)
	go func() {
		for n := 0; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				in := bufio.NewReader(conn)
				for answered := 0; ; answered++ {
					if _, err := http.ReadRequest(in); err != nil {
						return
					}
					requests.Add(1)
					switch {
					case n%3 == 1 && answered == 1:
						return
					case n%3 == 2 && answered == 1:
						fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Le")
						return
					}
					fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
				}
			}()
		}
	}()
	return &url.URL{Scheme: "http", Host: l.Addr().String(), Path: "/"}, requests
}

// Every request is counted once, whatever becomes of its connection, and is sent once.
func TestConnectionsThatEnd(t *testing.T) {
	t.Parallel()
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		engines(t, func(t *testing.T, portable bool) {
			u, requests := refuseTwice(t)
			pool, err := Open(t.Context(), &Target{portable: portable, Proto: "http1", Conns: 3, Streams: 1, Request: Request{Method: method, URL: u}})
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			r, err := Run(t.Context(), Plan{Pacer: Constant{200, time.Second}, Lines: pool.Lines})
			if err != nil || r.Done != 200 || r.Planned != 200 {
				t.Fatalf("%v, %+v", err, r)
			}
			failed := r.Failed()
			if r.Statuses[200]+failed != 200 || failed == 0 {
				t.Errorf("%s: statuses %v, errors %v, %d requests came", method, r.Statuses, r.Errors, requests.Load())
			}
			if r.Errors[errGone.Error()] == 0 || requests.Load() != 200 {
				t.Errorf("%s: %d requests came, errors %v", method, requests.Load(), r.Errors)
			}
		})
	}
}

// An interruption ends a loop at once, and all requests that were due are accounted for.
func TestInterruptHanging(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, portable bool) {
		u, _ := hanging(t)
		pool, err := Open(t.Context(), &Target{portable: portable, Proto: "http1", Conns: 5, Streams: 1, Request: Request{Method: http.MethodGet, URL: u}})
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		began := func(func() *Result) { time.AfterFunc(500*time.Millisecond, cancel) }
		r, err := Run(ctx, Plan{Pacer: Constant{100, time.Hour}, Lines: pool.Lines, Began: began})
		if err != nil || r.Done != 0 || r.Unanswered < 10 || r.Unanswered != r.Planned || r.Elapsed > time.Minute {
			t.Errorf("%v, %d answered, %d not, of %d, in %v", err, r.Done, r.Unanswered, r.Planned, r.Elapsed)
		}
	})
}

// 10,000 connections at 20,000 requests a second: on time, and at most 40 KB each.
func TestManyConnections(t *testing.T) {
	if os.Getenv("POSTAGE_LONG") != "hours" {
		t.Skip("wants a machine with nothing else to do: POSTAGE_LONG=hours")
	}
	const conns = 10_000
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil || files.Cur < conns+200 {
		t.Skipf("%d files may be open, want %d: ulimit -n", files.Cur, conns+200)
	}
	server, err := greeter.Start(t.Context(), greeter.Config{Server: "nethttp", Body: "json"})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	before := inUse()
	pool, err := Open(t.Context(), &Target{Proto: "http1", Conns: conns, Streams: 1, Timeout: time.Minute, Request: Request{
		Method: http.MethodPost, Body: []byte(`{"secure":"raw"}`), URL: &url.URL{Scheme: "http", Host: server.Addr, Path: "/"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	var during uint64
	// The first run makes the connections, which takes the server time too.
	for _, seconds := range []int{2, 10} {
		r, err := Run(t.Context(), Plan{Pacer: Constant{20_000, time.Duration(seconds) * time.Second}, Lines: pool.Lines})
		if err != nil || r.Failed() > 0 || r.Done != int64(20_000*seconds) {
			t.Fatalf("%v, %d answered, %v", err, r.Done, r.Errors)
		}
		during = inUse()
		late := time.Duration(r.Late.ValueAtQuantile(99))
		t.Logf("%ds: %.0f/s, p99 of lateness %v, of latency %v, %.0f%% busy", seconds, r.Achieved, late, time.Duration(r.Latency.ValueAtQuantile(99)), 100*r.Busy())
		if why := r.Invalid() + r.Shortfall(); seconds > 2 && why != "" {
			t.Error(why)
		}
	}
	each := (float64(during) - float64(before)) / conns
	t.Logf("%.1f KB a connection", each/1024)
	if each > 40<<10 {
		t.Errorf("%.1f KB a connection, want 40 at most", each/1024)
	}
}
