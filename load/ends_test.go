package load

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"
	"time"
)

// refuseTwice closes two of three connections when a request has come, or before the answer is
// complete.
func refuseTwice(t *testing.T) (u *url.URL, requests *atomic.Int64) {
	t.Helper()
	requests = new(atomic.Int64)
	return accepting(t, func(n int, conn net.Conn) {
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
			fmt.Fprint(conn, okHTTP1)
		}
	}), requests
}

// Every request is counted once, whatever becomes of its connection, and is sent once.
func TestConnectionsThatEnd(t *testing.T) {
	t.Parallel()
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		u, requests := refuseTwice(t)
		pool := opened(t, &Target{Proto: "http1", Conns: 3, Streams: 1, Request: Request{Method: method, URL: u}})
		r, err := Run(t.Context(), Plan{Pacer: Constant{200, time.Second}, Lines: pool.Lines})
		if err != nil || r.Done != 200 || r.Planned != 200 {
			t.Fatalf("%v, %+v", err, r)
		}
		failed := r.Failed()
		if r.Statuses[200]+failed != 200 || failed == 0 {
			t.Errorf("%s: statuses %v, errors %v, %d requests came", method, r.Statuses, r.Errors, requests.Load())
		}
		if r.Errors[errEnded.Error()] == 0 || requests.Load() != 200 {
			t.Errorf("%s: %d requests came, errors %v", method, requests.Load(), r.Errors)
		}
	}
}

// An interruption ends a loop at once, and all requests that were due are accounted for.
func TestInterruptHanging(t *testing.T) {
	t.Parallel()
	u, _ := hanging(t)
	pool := opened(t, &Target{Proto: "http1", Conns: 5, Streams: 1, Request: Request{Method: http.MethodGet, URL: u}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	began := func(func() *Result) { time.AfterFunc(500*time.Millisecond, cancel) }
	r, err := Run(ctx, Plan{Pacer: Constant{100, time.Hour}, Lines: pool.Lines, Began: began})
	if err != nil || r.Done != 0 || r.Account.Unanswered != 5 || r.Account.NotSent < 10 || r.Account.Unanswered+r.Account.NotSent != r.Planned || r.Elapsed > time.Minute {
		t.Errorf("%v, %d answered, %d not, %d not sent, of %d, in %v", err, r.Done, r.Account.Unanswered, r.Account.NotSent, r.Planned, r.Elapsed)
	}
}
