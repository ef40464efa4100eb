package load

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"testing"
	"time"

	h2 "golang.org/x/net/http2"
)

// silent is the script of a server that takes everything and answers nothing.
func silent(s *script, _ int) {
	_ = s.WriteSettings()
	_, _ = io.Copy(io.Discard, s.Conn)
}

// A silent server is not waited for longer than asked. Whatever it did not answer has failed: what
// was sent, what found no room on a line. Lines of net/http, which learn late that their requests
// are given up, are waited for until they have counted them.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	for _, way := range []struct {
		proto string
		plain bool
	}{{"http1", false}, {"http2", false}, {"http1", true}, {"http2", true}} {
		for _, n := range []int64{2, 100, 1 << 16} {
			u := scripted(t, silent)
			if way.proto == "http1" {
				l := listen(t)
				u = &url.URL{Scheme: "http", Host: l.Addr().String()}
			}
			pool, err := Open(t.Context(), &Target{Proto: way.proto, Conns: 2, Streams: 10, Request: Request{URL: u}, plain: way.plain})
			if err != nil {
				t.Fatal(err)
			}
			unanswered(t, n, pool.Lines...)
			if err := pool.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// unanswered runs n requests that will not be answered, and checks that those that were sent have
// failed for that reason.
func unanswered(t *testing.T, n int64, lines ...Line) {
	t.Helper()
	const duration = 20 * time.Millisecond
	done := make(chan struct{})
	go func() {
		defer close(done)
		r, err := Run(t.Context(), Plan{Pacer: Constant{float64(n) / duration.Seconds(), duration}, Patience: 300 * time.Millisecond, Lines: lines})
		if err != nil || r.Done == 0 || r.Done+r.Account.NotSent != n || r.Errors[errNoAnswer.Error()] != r.Done {
			t.Errorf("%T: %v, %v of %d, want %d", lines[0], err, r.Errors, r.Done, n)
		}
	}()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		t.Fatalf("%T waits for answers for ever", lines[0])
	}
}

// getting is a line of HTTP/2 that gets a URL over connections that dial makes, ten requests at a
// time.
func getting(t *testing.T, u *url.URL, dial func(ctx context.Context) (net.Conn, error)) Line {
	t.Helper()
	p, requests := new(Pool), &http2Requests{
		all: []http2Request{{fields: fields(http.MethodGet, u.Scheme, u.Host, u.Path)}}, pick: func() int { return 0 }, room: 10, verdict: new(Target).succeeded,
	}
	if err := openLoops(&Target{Conns: 1, meter: new(meter)}, p, dial, func(l *loop) lane { return newHTTP2Lane(l, requests) }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p.Lines[0]
}

// loose is a lane whose connections are not of a loop.
func loose(t *testing.T, room int, verdict func(*stream) (int, error), r http2Request) *http2Lane {
	work := &Work{run: &run{ctx: t.Context(), requests: t.Context()}, tally: &tally{counts: newCounts()}}
	return newHTTP2Lane(&loop{work: work, free: vacancies{ring: make([]lane, 1)}}, &http2Requests{all: []http2Request{r}, pick: func() int { return 0 }, room: room, verdict: verdict})
}

// discard is a connection that takes what is written to it.
type discard struct{}

func (discard) write([]byte) error { return nil }
func (discard) drained() bool      { return true }
func (discard) drop()              {}

// broken is a connection that takes nothing.
type broken struct{ discard }

func (broken) write([]byte) error { return io.ErrClosedPipe }

// A request that gets its place from one on a connection whose end shows in a write is written too.
func TestHTTP2EndMakesRoom(t *testing.T) {
	t.Parallel()
	l, now := loose(t, 1, new(Target).succeeded, http2Request{}), time.Now()
	left, c := newHTTP2Conn(l, broken{}), newHTTP2Conn(l, discard{})
	l.open[left], l.open[c], l.conn, l.unsent = true, true, c, []attempt{{timing: timing{due: now, sent: now, charged: now}}}
	left.start(attempt{}, now)
	left.leave()
	left.queueFlush()
	if l.loop.fill(now); l.active != 1 || len(c.streams) != 1 || len(c.out.frames) > 0 {
		t.Errorf("%d requests are under way, %d bytes of them are not written", l.active, len(c.out.frames))
	}
}

// dialTCP connects to a URL's host.
func dialTCP(ctx context.Context, u *url.URL) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", u.Host)
}

// A connection that the server leaves finishes its requests, even if no other can be made for the
// rest.
func TestGoAwayWithoutAnother(t *testing.T) {
	t.Parallel()
	refused := make(chan struct{})
	u := scripted(t, func(s *script, _ int) {
		_ = s.WriteSettings()
		first, _ := s.request()
		second, _ := s.request()
		_ = s.WriteGoAway(second, h2.ErrCodeNo, nil)
		<-refused
		s.answer(first, ":status", "200")
		s.answer(second, ":status", "200")
		_, _ = io.Copy(io.Discard, s.Conn)
	})
	var n int
	l := getting(t, u, func(ctx context.Context) (net.Conn, error) {
		if n++; n > 1 {
			if n == 4 { // all others have failed
				close(refused)
			}
			return nil, errors.New("refused")
		}
		return dialTCP(ctx, u)
	})
	r, err := Run(t.Context(), Plan{Pacer: Constant{1000, 5 * time.Millisecond}, Lines: []Line{l}})
	if err != nil || r.Done != 5 {
		t.Fatalf("%v, %d requests, want 5", err, r.Done)
	}
	wantOnly(t, r, 3, "refused")
}
