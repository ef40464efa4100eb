package load

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// ran is the result of so many requests to a handler, one after the other.
func ran(t *testing.T, target *Target, n int64, handler http.HandlerFunc) *Result {
	t.Helper()
	server := httptest.NewServer(handler)
	defer server.Close()
	at := parsed(t, server.URL)
	target.Request.URL, target.Conns, target.Streams, target.Timeout = at, 1, 1, 10*time.Second
	pool := opened(t, target)
	result := measured(t, Plan{Pacer: Constant{0, time.Minute}, Most: n, Lines: pool.Lines, GiveUp: time.Minute})
	return result
}

// A stream of server-sent events is answered by its first event, and each other is measured from
// the one before. A stream that ends too early, or is none, has failed.
func TestServerSentEvents(t *testing.T) {
	var n atomic.Int64
	r := ran(t, &Target{Proto: "sse", Messages: 4}, 8, func(w http.ResponseWriter, r *http.Request) {
		turn := n.Add(1)
		if turn%4 == 3 {
			return // no stream
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 6 {
			time.Sleep([]time.Duration{20 * time.Millisecond, 5 * time.Millisecond}[min(i, 1)])
			if turn%4 == 2 && i == 2 {
				return
			}
			fmt.Fprintf(w, ": a comment\n\nevent: x\ndata: %d\ndata: more\n\n", i)
			_ = http.NewResponseController(w).Flush()
		}
	})
	if r.Done != 8 || r.Statuses[200] != 8 || r.Errors["the stream ended after 2 events"] != 2 || r.Failed() != 4 {
		t.Errorf("%d done, %v, %v", r.Done, r.Statuses, r.Errors)
	}
	// Four whole streams of four events, and two that ended after two.
	if r.Messages.Received != 4*4+2*2 || r.Messages.Latency.TotalCount() != 4*3+2 {
		t.Errorf("%d received, %d measured", r.Messages.Received, r.Messages.Latency.TotalCount())
	}
	if first, between := r.Latency.ValueAtQuantile(90), r.Messages.Latency.Max(); first < 20e6 || between < 1e6 {
		t.Errorf("the first after %d ns, others after at most %d", first, between)
	}
	// All of a stream.
	r = ran(t, &Target{Proto: "sse"}, 3, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_, _ = io.WriteString(w, "data\n\ndata: x\r\n\r\nid: 7\n\n")
	})
	if r.Failed() != 0 || r.Messages.Received != 6 {
		t.Errorf("%d failed, %d received", r.Failed(), r.Messages.Received)
	}
}

// A run in which nothing answers ends early, and says why; one in which something does goes on.
func TestGivesUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for answers, want := range map[bool]string{false: "nothing has answered in 3s: no", true: ""} {
			sender := statuses(func() (int, error) {
				time.Sleep(10 * time.Millisecond)
				if answers {
					return 500, fmt.Errorf("status 500")
				}
				return 0, fmt.Errorf("no")
			})
			r, err := Run(t.Context(), Plan{Pacer: Constant{100, 10 * time.Second}, GiveUp: 3 * time.Second, Lines: []Line{sender}})
			if err != nil || r.GaveUp != want || r.Interrupted == answers {
				t.Errorf("answers %v: %v, %q, interrupted %v", answers, err, r.GaveUp, r.Interrupted)
			}
		}
	})
}

// A run that makes no connection ends early too: it does not wait for the connections' own limit.
func TestGivesUpConnecting(t *testing.T) {
	bubble(t, func(t *testing.T) {
		began := time.Now()
		tried := func() Traffic { return Traffic{Tried: 1} }
		r, err := Run(t.Context(), Plan{Pacer: Constant{100, 10 * time.Second}, GiveUp: 3 * time.Second, Traffic: tried, Lines: []Line{unreachable{}}})
		if took := time.Since(began); err != nil || r.GaveUp != "no connection was made in 3s" || took > 5*time.Second {
			t.Errorf("%v, %q after %v", err, r.GaveUp, took)
		}
	})
}

// An unreachable server lets connections wait for as long as they like.
type unreachable struct{}

func (unreachable) Connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	<-ctx.Done()
	return ctx.Err()
}

func (u unreachable) Serve(ctx context.Context, w *Work) { senderFunc(u.Connect).Serve(ctx, w) }

// A worker that takes over long after the start has as much time for its first answer as one that
// was there.
func TestGivesUpFromItsOwnStart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		began := time.Now()
		sender := statuses(func() (int, error) {
			time.Sleep(10 * time.Millisecond)
			if time.Since(began) < time.Second {
				return 0, fmt.Errorf("not yet")
			}
			return 200, nil
		})
		late := func(context.Context) (time.Time, error) { return time.Now().Add(-5 * time.Second), nil }
		r, err := Run(t.Context(), Plan{Pacer: Constant{100, 10 * time.Second}, Ready: late, GiveUp: 3 * time.Second, Lines: []Line{sender}})
		if err != nil || r.GaveUp != "" || r.Interrupted {
			t.Errorf("%v, %q, interrupted %v", err, r.GaveUp, r.Interrupted)
		}
	})
}

type statuses func() (int, error)

func (statuses) Connect(context.Context) error { return nil }

func (f statuses) Serve(_ context.Context, w *Work) {
	serve(w, func() (o outcome) {
		o.status, o.err = f()
		return o
	})
}
