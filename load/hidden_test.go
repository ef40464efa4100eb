package load

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	h2 "golang.org/x/net/http2"
)

// rawHTTP1 is a server that answers request n, from 0, with a text, and then closes the connection
// if the text is to be the last.
func rawHTTP1(t *testing.T, answer func(n int64) (text string, last bool)) (u *url.URL, requests *atomic.Int64) {
	t.Helper()
	requests = new(atomic.Int64)
	return accepting(t, func(_ int, conn net.Conn) {
		in := bufio.NewReader(conn)
		for {
			if _, err := http.ReadRequest(in); err != nil {
				return
			}
			text, last := answer(requests.Add(1) - 1)
			if _, err := conn.Write([]byte(text)); err != nil || last {
				return
			}
		}
	}), requests
}

const okHTTP1 = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// A request that was written and lost has failed: the server counts as many as are reported, and
// the idempotent ones among them are not sent again in secret.
func TestLostRequestsAreFailures(t *testing.T) {
	t.Parallel()
	u, requests := rawHTTP1(t, func(n int64) (string, bool) {
		if n%2 == 1 {
			return "", true
		}
		return okHTTP1, false
	})
	r := sent(t, u, 50, 1, func(target *Target) { target.Proto = "http1" })
	if requests.Load() != 50 {
		t.Errorf("%d requests came for 50", requests.Load())
	}
	wantOnly(t, r, 25, errEnded.Error())
}

// An answer in HTTP/1.1 whose length is in doubt is not a success: RFC 9112 section 6.3.
func TestConflictingLengths(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string]int64{
		"Content-Length: 2\r\nContent-Length: 2\r\n":   0,
		"Content-Length: 2, 2\r\n":                     0,
		"Content-Length: 2\r\nContent-Length: 3\r\n":   3,
		"Content-Length: 2, 3\r\n":                     3,
		"Content-Length: +2\r\n":                       3,
		"Transfer-Encoding: chunked\r\nX: y\r\n":       3, // ok is no chunk
		"Transfer-Encoding: gzip\r\n":                  0, // until the end of the connection
		"Transfer-Encoding: gzip\r\nContent-Length: 1": 0,
	} {
		u, _ := rawHTTP1(t, func(int64) (string, bool) {
			return "HTTP/1.1 200 OK\r\n" + strings.TrimSuffix(fields, "\r\n") + "\r\n\r\nok" + map[bool]string{true: "\r\n"}[strings.Contains(fields, "chunked")], strings.Contains(fields, "gzip")
		})
		r := sent(t, u, 3, 1, func(target *Target) { target.Proto = "http1" })
		if r.Failed() != want {
			t.Errorf("%q: %d failed of 3, want %d: %v", fields, r.Failed(), want, r.Errors)
		}
	}
}

// An answer in HTTP/2 that is not as long as it says is malformed: RFC 9113 section 8.1.1. That of
// HEAD has no body, whatever it says.
func TestLengthOfHTTP2(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, body string
		lengths      []string
		failed       int64
	}{
		{"GET", "okay", []string{"4"}, 0}, {"GET", "ok", []string{"4"}, 20}, {"GET", "okay", []string{"2"}, 20},
		{"GET", "", []string{"4"}, 20}, {"POST", "ok", []string{"2", "3"}, 20}, {"POST", "ok", []string{"x"}, 20},
	} {
		u := scripted(t, func(s *script, _ int) {
			_ = s.WriteSettings()
			for id, _ := s.request(); id != 0; id, _ = s.request() {
				fields := []string{":status", "200"}
				for _, length := range c.lengths {
					fields = append(fields, "content-length", length)
				}
				_ = s.WriteHeaders(h2.HeadersFrameParam{StreamID: id, BlockFragment: s.header(fields...), EndHeaders: true, EndStream: c.body == ""})
				if c.body != "" {
					_ = s.WriteData(id, true, []byte(c.body))
				}
			}
		})
		r := sent(t, u, 20, 2, func(target *Target) { target.Request.Method = c.method })
		if r.Failed() != c.failed || r.Statuses[200] != 20-c.failed {
			t.Errorf("%+v: %d failed, statuses %v, %v", c, r.Failed(), r.Statuses, r.Errors)
		}
	}
}

// An HTTP/1.1 client finds out that a port speaks HTTP/2, and says so.
func TestPortSpeaksHTTP2(t *testing.T) {
	t.Parallel()
	u, _ := rawHTTP1(t, func(int64) (string, bool) { return "\x00\x00\x00\x04\x00\x00\x00\x00\x00", true })
	r := sent(t, u, 3, 1, func(target *Target) { target.Proto = "http1" })
	wantOnly(t, r, 3, "HTTP/2")
}

// A request is a success or a failure, never both: an answer that comes when patience has ended is
// a failure, without a status.
func TestNeverBoth(t *testing.T) {
	t.Parallel()
	r, err := Run(t.Context(), Plan{Pacer: Constant{100, 100 * time.Millisecond}, Patience: time.Millisecond, Lines: []Line{lineFunc(func(ctx context.Context, w *Work) {
		for {
			taken, ok := w.take(time.Time{})
			if !ok {
				return
			}
			<-ctx.Done()
			now := time.Now()
			w.done(taken, now, now, 200, nil)
		}
	})}})
	if err != nil || r.Failed() != 1 || r.Account.NotSent != 9 || r.Statuses[200] != 0 {
		t.Errorf("%v: %d failed, %d not sent, statuses %v", err, r.Failed(), r.Account.NotSent, r.Statuses)
	}
	s := &stream{answer: answer{status: 200, grpc: 0, kind: "application/grpc"}}
	if status, err := replied(s); err == nil || status != 0 {
		t.Errorf("an empty answer of gRPC: status %d, %v", status, err)
	}
}

// At a rate that a server cannot take, latencies are of a queue that grows as long as the run
// lasts: they say nothing of the server, and are not valid.
func TestImpossibleRateIsNotValid(t *testing.T) { bubble(t, testImpossibleRateIsNotValid) }

func testImpossibleRateIsNotValid(t *testing.T) {
	r := measured(t, Plan{Pacer: Constant{500, 2 * time.Second}, Lines: lines(
		senderFunc(func(context.Context) error { time.Sleep(10 * time.Millisecond); return nil }))})
	if why := r.Invalid(); !strings.Contains(why, "queue") {
		t.Errorf("valid, with a p50 of %v: %q", time.Duration(r.Latency.ValueAtQuantile(50)), why)
	}
	if why, generator := Missed(r, nil); why == "" || generator {
		t.Errorf("%q is said to be the generator's fault: %v", why, generator)
	}
}

// The first example of vegeta's documentation has no empty lines.
func TestTargetsWithoutEmptyLines(t *testing.T) {
	t.Parallel()
	requests, err := ReadTargets(file(t, "targets", "GET http://goku:9090/path/to/dragon?item=ball\nGET http://user:password@goku:9090/path/to\nHEAD http://goku:9090/path/to/success\nX-Account-ID: 99\n"))
	if err != nil || len(requests) != 3 || requests[2].Method != "HEAD" || requests[2].Header.Get("X-Account-Id") != "99" {
		t.Errorf("%v: %+v", err, requests)
	}
}

// Values are escaped where they stand in a path, and what was escaped there before stays as it is.
// A byte order mark is not part of the first column's name.
func TestValuesInPaths(t *testing.T) {
	t.Parallel()
	values := file(t, "values", "\ufeffid,q\na/b ?#%,x&y\n")
	requests, _, _, err := FillIn([]Request{{URL: parsed(t, "http://h/a%2Fb/{{id}}/c%20d?x=%7B&q={{ q }}")}, {URL: parsed(t, "http://h/{{ id }}")}}, values)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"/a%2Fb/a%2Fb%20%3F%23%25/c%20d?x=%7B&q=x%26y", "/a%2Fb%20%3F%23%25"} {
		if got := requests[i].URL.RequestURI(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
