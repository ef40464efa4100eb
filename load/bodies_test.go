package load

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// ran is the result of so many requests to a handler, one after the other.
func ran(t *testing.T, target *Target, n int64, handler http.HandlerFunc) *Result {
	t.Helper()
	server := httptest.NewServer(handler)
	defer server.Close()
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	target.Request.URL, target.Conns, target.Streams, target.Timeout = at, 1, 1, 10*time.Second
	pool, err := Open(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	result, err := Run(t.Context(), Plan{Pacer: Constant{0, time.Minute}, Most: n, Lines: pool.Lines, GiveUp: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
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

// A call of the Connect protocol is a POST request with JSON, and fails by its status.
func TestConnect(t *testing.T) {
	var n atomic.Int64
	r := ran(t, &Target{Proto: "connect", RPC: "pkg.Greeter/Hello", Request: Request{Body: []byte(`{"name":"x"}`)}}, 6, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method != "POST" || r.URL.Path != "/pkg.Greeter/Hello" || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Connect-Protocol-Version") != "1" || string(body) != `{"name":"x"}` {
			t.Errorf("%s %s %v %s", r.Method, r.URL, r.Header, body)
		}
		if n.Add(1)%3 == 0 {
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, `{"code":"resource_exhausted"}`)
		}
	})
	if r.Done != 6 || r.Failed() != 2 || r.Statuses[429] != 2 {
		t.Errorf("%d done, %v, %v", r.Done, r.Statuses, r.Errors)
	}
}

// An answer of gRPC-Web is a success by its trailers, which are in the body, or in the header.
func TestWeb(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hello.proto")
	if err := os.WriteFile(file, []byte("syntax = \"proto3\";\npackage pkg;\nmessage M { string name = 1; }\nservice Greeter { rpc Hello(M) returns (M); }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	frame := func(flag byte, text string) string {
		return string(binary.BigEndian.AppendUint32([]byte{flag}, uint32(len(text)))) + text
	}
	answers := []string{
		frame(0, "\n\x01x") + frame(0x80, "grpc-status: 0\r\n"),
		frame(0, "\n\x01x") + frame(0x80, "grpc-status: 5\r\ngrpc-message: no such thing\r\n"),
		"",
		frame(0, "\n\x01x"),
		frame(0, "\n\x01x")[:6],
		frame(0x80, "grpc-status: 0\r\n"),
	}
	var n atomic.Int64
	r := ran(t, &Target{Proto: "grpc-web", RPC: "pkg.Greeter/Hello", ProtoFile: file, Request: Request{Body: []byte(`{"name":"x"}`)}}, 6, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/pkg.Greeter/Hello" || r.Header.Get("Content-Type") != "application/grpc-web+proto" || r.Header.Get("X-Grpc-Web") != "1" || string(body) != frame(0, "\n\x01x") {
			t.Errorf("%s %s %v %q", r.Method, r.URL, r.Header, body)
		}
		i := n.Add(1) - 1
		w.Header().Set("Content-Type", "application/grpc-web+proto")
		if i == 2 {
			w.Header().Set("Grpc-Status", "16")
		}
		_, _ = io.WriteString(w, answers[i])
	})
	want := map[string]int64{"NotFound: no such thing": 1, "Unauthenticated: ": 1, "the answer has no grpc-status": 1, "the answer is cut": 1, "the answer is not exactly one message": 1}
	if fmt.Sprint(r.Errors) != fmt.Sprint(want) || r.Done != 6 {
		t.Errorf("%d done, %v", r.Done, r.Errors)
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
			r, err := Run(t.Context(), Plan{Pacer: Constant{100, 10 * time.Second}, GiveUp: 3 * time.Second, Lines: []Line{OneAtATime(sender)}})
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
		r, err := Run(t.Context(), Plan{Pacer: Constant{100, 10 * time.Second}, GiveUp: 3 * time.Second, Traffic: tried, Lines: []Line{OneAtATime(unreachable{})}})
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

func (u unreachable) Send(ctx context.Context) (int, error) { return 0, u.Connect(ctx) }

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
		r, err := Run(t.Context(), Plan{Pacer: Constant{100, 10 * time.Second}, Ready: late, GiveUp: 3 * time.Second, Lines: []Line{OneAtATime(sender)}})
		if err != nil || r.GaveUp != "" || r.Interrupted {
			t.Errorf("%v, %q, interrupted %v", err, r.GaveUp, r.Interrupted)
		}
	})
}

type statuses func() (int, error)

func (f statuses) Send(context.Context) (int, error) { return f() }
