package load

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	h2 "golang.org/x/net/http2"
)

// http2Line returns the lane of a loop of one connection.
func http2Line(line Line) *http2Lane { return line.(*loop).lanes[0].(*http2Lane) }

// Requests that are to be sent again have no connection until patience ends, and those on a
// connection that the server leaves have no answer. A loop fails them all.
func TestLoopGivesUpAfterGoAway(t *testing.T) {
	t.Parallel()
	u := scripted(t, func(s *script, _ int) {
		_ = s.WriteSettings()
		first, _ := s.request()
		for range 3 {
			s.request()
		}
		_ = s.WriteGoAway(first, h2.ErrCodeNo, nil)
		_, _ = io.Copy(io.Discard, s.Conn)
	})
	var dials atomic.Int64
	line := getting(t, u, func(ctx context.Context) (net.Conn, error) {
		if dials.Add(1) > 1 {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return dialTCP(ctx, u)
	})
	unanswered(t, 4, line)
	// One if patience ends before the server leaves. TestLoopReplacesConnections has them
	// replaced.
	if n := dials.Load(); n > 2 {
		t.Errorf("%d connections were tried, want 2 at most", n)
	}
}

// A server that leaves its connection after every few requests loses none of them, and the loop
// uses the places of closed connections again.
func TestLoopReplacesConnections(t *testing.T) {
	t.Parallel()
	var connections atomic.Int64
	u := scripted(t, func(s *script, _ int) {
		connections.Add(1)
		_ = s.WriteSettings()
		var id uint32
		for range 5 {
			if id, _ = s.request(); id == 0 {
				return
			}
			s.answer(id, ":status", "200")
		}
		_ = s.WriteGoAway(id, h2.ErrCodeNo, nil)
		_, _ = io.Copy(io.Discard, s.Conn)
	})
	pool := opened(t, &Target{Proto: "http2", Conns: 1, Streams: 4, Request: Request{URL: u}})
	r, err := Run(t.Context(), Plan{Pacer: Constant{1000, 200 * time.Millisecond}, Lines: pool.Lines})
	if err != nil || r.Done != 200 || r.Failed() != 0 || r.Planned != 200 {
		t.Errorf("%v, %d answered of %d, failures %v", err, r.Done, r.Planned, r.Errors)
	}
	l := pool.Lines[0].(*loop)
	if n := connections.Load(); n < 40 || len(l.sockets) > 5 || slices.ContainsFunc(l.lanes, lane.working) {
		t.Errorf("%d connections, %d sockets, requests are still under way: %v", n, len(l.sockets), slices.ContainsFunc(l.lanes, lane.working))
	}
}

// With TLS, a loop sends and receives bodies of many records.
func TestLoopTLS(t *testing.T) {
	t.Parallel()
	body := bytes.Repeat([]byte("0123456789abcdef"), 20_000)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, err := io.ReadAll(r.Body)
		if err != nil || !bytes.Equal(got, body) || r.ProtoMajor != 2 {
			t.Errorf("%s: %d bytes came, %v", r.Proto, len(got), err)
		}
		_, _ = w.Write(got)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	u := parsed(t, server.URL)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		config := server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
		config.MaxVersion = version
		r := sent(t, u, 30, 4, func(t *Target) {
			t.Request.Method, t.Request.Body, t.TLS = http.MethodPost, body, config
		})
		wantOnly(t, r, 0, "")
	}
}

// A server that ends the connection within a TLS record fails the requests under way.
func TestLoopTLSCut(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 4)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
	}))
	conns := make(chan net.Conn, 1)
	server.Config.ConnState = func(c net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns <- c.(*tls.Conn).NetConn()
		}
	}
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	u := parsed(t, server.URL)
	target := &Target{
		Proto: "http2", Conns: 1, Streams: 4, Request: Request{URL: u}, TLS: server.Client().Transport.(*http.Transport).TLSClientConfig,
	}
	pool := opened(t, target)
	go func() {
		conn := <-conns
		for range cap(arrived) {
			<-arrived
		}
		_, _ = conn.Write([]byte{23, 3, 3, 0, 99, 1, 2, 3}) // the beginning of a record
		conn.Close()
	}()
	r, err := Run(t.Context(), Plan{Pacer: Constant{100, 40 * time.Millisecond}, Lines: pool.Lines})
	if err != nil || r.Done != 4 {
		t.Fatalf("%v, %+v", err, r)
	}
	wantOnly(t, r, 4, errEnded.Error())
}
