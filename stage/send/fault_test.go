package send

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"postage/internal/service/greeter"
	"postage/internal/service/tlscert"
)

// tryOpen returns an instance whose server was changed by change.
func tryOpen(t *testing.T, tr *transport, s spec, change func(*greeter.Config)) (*instance, error) {
	t.Helper()
	pair, err := certificate(&s)
	if err != nil {
		t.Fatal(err)
	}
	config := tr.serverConfig(&s, pair)
	if change != nil {
		change(&config)
	}
	in, err := openInstance(context.Background(), tr, s, 1, config, pair)
	if err == nil {
		t.Cleanup(func() { in.Close() })
	}
	return in, err
}

// opened is tryOpen where nothing is in the way.
func opened(t *testing.T, tr *transport, s spec, change func(*greeter.Config)) *instance {
	t.Helper()
	in, err := tryOpen(t, tr, s, change)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// wantError checks that there is an error with the right reason.
func wantError(t *testing.T, err error, reasons ...string) {
	t.Helper()
	for _, reason := range reasons {
		if err != nil && strings.Contains(err.Error(), reason) {
			return
		}
	}
	t.Errorf("error is %v, want one with %q", err, reasons)
}

func plain() spec {
	s := fixed()
	s.tls, s.inflight, s.conns = false, 1, 1
	return s
}

func secure() spec {
	s := plain()
	s.tls = true
	return s
}

func TestProofSeesAnotherProtocol(t *testing.T) {
	for name, tr := range map[string]*transport{"http2": netHTTP2(), "connect": connectProto("http2")} {
		for _, s := range []spec{plain(), secure()} {
			in := opened(t, tr, s, func(c *greeter.Config) { c.Fault.HTTP1Only = true })
			err := in.Prove(context.Background())
			if err == nil {
				t.Errorf("%s, TLS %v: a server of HTTP/1.1 passed the proof", name, s.tls)
			}
			t.Log(err)
		}
	}
	// A client that silently falls back is noticed by the reply and by ALPN.
	fallback := netHTTP2()
	fallback.open = netHTTP1().open
	in := opened(t, fallback, secure(), nil)
	wantError(t, in.Prove(context.Background()), `on HTTP/1.1", want "Hello raw on HTTP/2.0"`)
	fallback.version, fallback.alpn = "HTTP/1.1", "h2"
	in = opened(t, fallback, secure(), nil)
	wantError(t, in.Prove(context.Background()), `ALPN agreed on "http/1.1", want "h2"`)
}

// A row that says reuse=no and keeps its connection, and the opposite.
func TestProofCountsConnections(t *testing.T) {
	for _, tr := range []*transport{netHTTP1(), netHTTP2(), quicHTTP3(), grpcGo(), fastHTTP1()} {
		for _, reuse := range []bool{true, false} {
			liar := *tr
			liar.open = func(target *target) (client, error) {
				s := *target.spec
				s.reuse = !reuse
				target.spec = &s
				return tr.open(target)
			}
			s := secure()
			s.reuse = reuse
			in := opened(t, &liar, s, nil)
			want := "0 new connections in 3 operations, want one each"
			if reuse {
				want = "4 connections, want the same 1 kept"
			}
			err := in.Prove(context.Background())
			for range 2 { // net/http may give up a connection that is kept
				if err != nil && !strings.Contains(err.Error(), want) {
					err = in.Prove(context.Background())
				}
			}
			wantError(t, err, want)
		}
	}
}

// A connection that is lost between batches is noticed after the batch that replaced it.
func TestCountersSeeALostConnection(t *testing.T) {
	in := opened(t, netHTTP1(), plain(), nil)
	if err := in.Prove(context.Background()); err != nil {
		t.Fatal(err)
	}
	in.clients[0].(*httpClient).http.CloseIdleConnections()
	if err := in.Run(1); err != nil {
		t.Fatal(err)
	}
	_, err := in.Counters()
	wantError(t, err, "2 connections, want the same 1 kept")
}

func TestProofSeesResumption(t *testing.T) {
	for _, tr := range []*transport{netHTTP1(), quicHTTP3(), grpcGo(), handshakeAlone()} {
		for _, claimed := range []resume{resumeNo, resumeYes} {
			s := secure()
			s.reuse, s.resume = false, resumeYes
			if claimed == resumeYes {
				s.resume = resumeNo
			}
			in := opened(t, tr, s, nil)
			in.spec.resume = claimed
			want := "resumed 3 of 3 TLS sessions, want 0"
			if claimed == resumeYes {
				want = "resumed 0 of 3 TLS sessions, want 3"
			}
			wantError(t, in.Prove(context.Background()), want)
		}
	}
}

func TestProofSeesEarlyData(t *testing.T) {
	s := secure()
	s.reuse, s.resume = false, resumeEarly
	in := opened(t, rawQUIC(), s, func(c *greeter.Config) { c.Early = false })
	wantError(t, in.Prove(context.Background()), "early data on 0 of 3 connections, want 3", "0-RTT rejected")
}

func TestProofSeesAnotherCertificate(t *testing.T) {
	s := secure()
	in := opened(t, netHTTP1(), s, nil)
	in.spec.cert = tlscert.RSA4096
	wantError(t, in.Prove(context.Background()), "the certificate is ecdsa-p256, want rsa4096")
}

func TestProofReadsReplies(t *testing.T) {
	for _, tr := range append(everyProtocol(), rawTLS(), rawQUIC()) {
		in := opened(t, tr, secure(), func(c *greeter.Config) { c.Fault.Garble = true })
		wantError(t, in.Prove(context.Background()), `the reply is "Goodbye"`)
	}
}

func TestProofComparesBytes(t *testing.T) {
	in := opened(t, netHTTP1(), plain(), nil)
	in.targets[0].wire.Out.Add(7)
	wantError(t, in.Prove(context.Background()), "bytes, the server received")
}

// What QUIC sends by itself after the counts were taken must not look like a loss.
func TestProofComparesBytesOfOneMoment(t *testing.T) {
	in := opened(t, quicHTTP3(), secure(), nil)
	if err := in.Prove(context.Background()); err != nil {
		t.Fatal(err)
	}
	after, sent, received, err := in.settled()
	if err != nil {
		t.Fatal(err)
	}
	in.targets[0].wire.Out.Add(7)
	in.targets[0].wire.In.Add(7)
	p := proof{in: in, after: after, sent: sent, received: received}
	if err := p.bytes(); err != nil {
		t.Error(err)
	}
	p.sent += 7
	wantError(t, p.bytes(), "bytes, the server received")
	p.sent, p.received = sent, received+7
	wantError(t, p.bytes(), "bytes, the clients received")
}

func TestProofSeesAnotherTLS(t *testing.T) {
	in := opened(t, netHTTP1(), secure(), nil)
	if err := in.Prove(context.Background()); err != nil {
		t.Fatal(err)
	}
	after, err := in.server.Counters()
	if err != nil {
		t.Fatal(err)
	}
	after.TLS = "TLS 1.2"
	wantError(t, (&proof{in: in, before: after, after: after}).tls(), "TLS is TLS 1.3, at the server TLS 1.2, want TLS 1.3")
}

func TestServerDies(t *testing.T) {
	for _, tr := range []*transport{netHTTP1(), netHTTP2(), grpcGo(), fastHTTP1(), quicHTTP3(), rawTLS(), connectProto("http1")} {
		in := opened(t, tr, secure(), func(c *greeter.Config) { c.Fault.DieAfter = 10 })
		if err := in.Prove(context.Background()); err != nil {
			t.Fatal(err)
		}
		failed := make(chan error, 1)
		go func() { failed <- in.Run(100) }()
		select {
		case err := <-failed:
			wantError(t, err, "the server ended (exit status 7): greeter: dies as it was told to")
		case <-time.After(time.Minute):
			t.Errorf("%s: waits for a server that died", tr.name)
		}
	}
}

func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = tryOpen(t, netHTTP1(), plain(), func(c *greeter.Config) { c.Addr = l.Addr().String() })
	wantError(t, err, "address already in use")
}

func TestRefused(t *testing.T) {
	for _, tr := range []*transport{netHTTP1(), netHTTP2(), grpcGo(), fastHTTP1(), rawTCP(), connectProto("http1")} {
		in := opened(t, tr, plain(), nil)
		if err := in.server.Close(); err != nil {
			t.Fatal(err)
		}
		wantError(t, in.Prove(context.Background()), "connection refused", "the server ended")
	}
}

func TestHalfClosed(t *testing.T) {
	for _, tr := range []*transport{netHTTP1(), netHTTP2(), grpcGo(), fastHTTP1(), rawTCP()} {
		in := opened(t, tr, plain(), func(c *greeter.Config) { c.Fault.HalfClose = true })
		begun := time.Now()
		err := in.Prove(context.Background())
		wantError(t, err, "EOF", "closed connection", "closed idle connection", "conn could not be established",
			"connection lost", "conn is closed", "conn not usable", "broken pipe", "connection reset")
		t.Logf("%s, after %v: %v", tr.name, time.Since(begun).Round(time.Millisecond), err)
	}
}

// A request that the server refuses is an error that gives the server's reason.
func TestRefusedRequest(t *testing.T) {
	for _, tr := range []*transport{
		netHTTP1(), netHTTP2(), quicHTTP3(), grpcGo(), fastHTTP1(),
		connectProto("http1"), connectProto("http2"), grpcWeb("http2"),
	} {
		in := opened(t, tr, secure(), func(c *greeter.Config) { c.Fault.Refuse = true })
		err := in.Prove(context.Background())
		t.Logf("%s: %v", tr.name, err)
		wantError(t, err, "refused, as it was told to")
	}
}

func TestExpiredCertificate(t *testing.T) {
	now := time.Now()
	pair, err := tlscert.NewValid(tlscert.ECDSAP256, now.Add(-2*time.Hour), now.Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range append(everyProtocol(), rawTLS(), rawQUIC(), handshakeAlone()) {
		s := secure()
		in, err := openInstance(context.Background(), tr, s, 1, tr.serverConfig(&s, pair), pair)
		if err != nil {
			t.Fatal(err)
		}
		wantError(t, in.Prove(context.Background()), "certificate has expired")
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}
}

// After 200 connections, 2,000 with POSTAGE_LONG and 10,000 with POSTAGE_LONG=hours, there are as
// many goroutines and open files as before.
func TestNothingIsLeftBehind(t *testing.T) {
	n := 200
	switch os.Getenv("POSTAGE_LONG") {
	case "":
	case "hours":
		n = 10_000
	default:
		n = 2000
	}
	for _, tr := range []*transport{netHTTP1(), netHTTP2(), grpcGo(), fastHTTP1(), quicHTTP3(), connectProto("http2"), rawTCP()} {
		t.Run(tr.name, func(t *testing.T) {
			goroutines, files := runtime.NumGoroutine(), openFiles(t)
			s := plain()
			s.reuse = false
			s.inflight, s.conns = 2, 0
			s.tls = tr.quic
			pair, err := certificate(&s)
			if err != nil {
				t.Fatal(err)
			}
			in, err := openInstance(context.Background(), tr, s, 1, tr.serverConfig(&s, pair), pair)
			if err != nil {
				t.Fatal(err)
			}
			if err := in.Run(n); err != nil {
				t.Error(err)
			}
			if _, err := in.Counters(); err != nil {
				t.Error(err)
			}
			if err := in.Close(); err != nil {
				t.Error(err)
			}
			for wait := time.Millisecond; runtime.NumGoroutine() > goroutines; wait *= 2 {
				if wait > 16*time.Second {
					t.Fatalf("%d goroutines are left", runtime.NumGoroutine()-goroutines)
				}
				time.Sleep(wait)
			}
			if left := openFiles(t) - files; left > 0 {
				t.Errorf("%d open files are left", left)
			}
		})
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(files)
}

// Failing rows leave no server behind either, and their instances can be closed.
func TestFailureEndsTheServer(t *testing.T) {
	in := opened(t, netHTTP1(), plain(), func(c *greeter.Config) { c.Fault.Garble = true })
	wantError(t, in.Prove(context.Background()), "Goodbye")
	pid := in.server.PID()
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
		t.Errorf("server %d is still there", pid)
	}
}

// lateWriter reports what it has written after the answer to it has come.
type lateWriter struct {
	net.Conn
	late *atomic.Bool // the next time
}

func (w lateWriter) Write(b []byte) (int, error) {
	n, err := w.Conn.Write(b)
	if w.late.Swap(false) {
		time.Sleep(200 * time.Millisecond)
	}
	return n, err
}

// writesLate gives a client's connections a lateWriter.
func writesLate(c client) (tr *http.Transport, late *atomic.Bool) {
	tr, late = c.(*httpClient).http.Transport.(*http.Transport), new(atomic.Bool)
	dial := tr.DialContext
	tr.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		return lateWriter{conn, late}, err
	}
	return tr, late
}

// net/http gives up a connection whose request was written late, as its own writer tells it: that
// is no row that makes a connection for each request.
func TestProofOutlivesALateWriter(t *testing.T) {
	for _, s := range []spec{plain(), secure()} {
		in := opened(t, netHTTP1(), s, nil)
		tr, late := writesLate(in.clients[0])
		if err := in.warmOnce(); err != nil { // with TLS, what is written first is no request
			t.Fatal(err)
		}
		counted := func(n int) (err error) {
			if err = in.Run(n); err == nil {
				_, err = in.Counters()
			}
			return err
		}
		late.Store(true)
		if err := in.Prove(t.Context()); err != nil {
			t.Fatal(err)
		}
		late.Store(true)
		if err := counted(1000); err != nil {
			t.Error(err)
		}
		if c, err := in.server.Counters(); err != nil || c.Conns < 3 {
			t.Errorf("%d connections, want 3 at least; %v", c.Conns, err)
		}
		tr.CloseIdleConnections() // which would be the one that the host may have
		tr.DisableKeepAlives = true
		wantError(t, counted(100), "connections, want the same 1 kept")
	}
}

// dialed is an exchange with a server of its own.
func dialed(t *testing.T, protocol string) (*Exchange, *greeter.Process) {
	t.Helper()
	p, err := NewProtocol(protocol)
	if err != nil {
		t.Fatal(err)
	}
	server, err := greeter.Start(t.Context(), p.Server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Kill)
	x, err := p.Dial(t.Context(), nil, server.Addr, server.Done())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	return x, server
}

// A connection that HTTP/2 made twice is not one that is kept.
func TestExchangeKeepsItsConnection(t *testing.T) {
	x, server := dialed(t, "proto=http2")
	call := func() error { return x.Call([]byte("hello"), func([]byte) error { return nil }) }
	if err := call(); err != nil {
		t.Fatal(err)
	}
	if err := x.Proven(server.Counters, call); err != nil {
		t.Error(err)
	}
	x.client.(*httpClient).http.CloseIdleConnections()
	if err := call(); err != nil {
		t.Fatal(err)
	}
	wantError(t, x.Proven(server.Counters, call), "2 connections and 2 TLS handshakes, want one that is kept")
}

// An exchange outlives it too.
func TestExchangeOutlivesALateWriter(t *testing.T) {
	for _, keeps := range []bool{true, false} {
		x, server := dialed(t, "proto=http1")
		tr, late := writesLate(x.client)
		tr.DisableKeepAlives = !keeps
		call := func() error { return x.Call([]byte("hello"), func([]byte) error { return nil }) }
		if err := call(); err != nil {
			t.Fatal(err)
		}
		late.Store(keeps)
		if err := errors.Join(call(), call()); err != nil {
			t.Fatal(err)
		}
		if c, err := server.Counters(); err != nil || c.Conns < 2 {
			t.Errorf("keeps %v: %d connections, want 2 at least; %v", keeps, c.Conns, err)
		}
		if err := x.Proven(server.Counters, call); keeps && err != nil {
			t.Error(err)
		} else if !keeps {
			wantError(t, err, "2 connections and 2 TLS handshakes, want one that is kept")
		}
	}
}
