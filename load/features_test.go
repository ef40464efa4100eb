package load

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/reflection"
)

// Requests go to a UNIX socket, by every protocol that can, and their statuses are what the target
// expects.
func TestConnectToAndExpect(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "example.invalid" {
			t.Errorf("host %s", r.Host)
		}
		w.WriteHeader(http.StatusNotModified)
	}))
	server.Listener = l
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	defer server.Close()
	for _, proto := range []string{"http1", "http2"} {
		for _, cookies := range []bool{false, true} {
			for _, expect := range []int{304, 200} {
				r := sent(t, parsed(t, "http://example.invalid/"), 5, 1, func(target *Target) {
					target.Proto, target.Cookies, target.ConnectTo, target.Expect = proto, cookies, path, func(status int) bool { return status == expect }
				})
				if r.Statuses[304] != 5 || (r.Failed() == 0) != (expect == 304) {
					t.Errorf("%s, %d expected: %v, %v", proto, expect, r.Statuses, r.Errors)
				}
			}
		}
	}
}

// An answer begins before it ends, and once.
func TestFirstByte(t *testing.T) {
	t.Parallel()
	const rest = 50 * time.Millisecond
	server := serving(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).Flush()
		time.Sleep(rest)
		_, _ = w.Write([]byte("rest"))
	}))
	for _, proto := range []string{"http1", "http2"} {
		for _, cookies := range []bool{false, true} {
			r := sent(t, parsed(t, server.URL), 5, 1, func(target *Target) { target.Proto, target.Cookies = proto, cookies })
			sooner := time.Duration(r.Latency.Mean()) - r.Beginning/5
			if r.Begun != 5 || r.Failed() > 0 || sooner < rest {
				t.Errorf("%s, cookies %v: %d answers began, %v before they ended, want 5 and %v: %v", proto, cookies, r.Begun, sooner, rest, r.Errors)
			}
		}
	}
}

// Open leaves its target as it was: opened again, it sends the same, with the URL's name and password.
func TestOpenAgain(t *testing.T) {
	t.Parallel()
	server := serving(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, password, _ := r.BasicAuth(); name+" "+password != "ann s3:cret" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	to := parsed(t, server.URL)
	to.User = url.UserPassword("ann", "s3:cret")
	target := &Target{Proto: "http1", Conns: 1, Streams: 1, Request: Request{URL: to, Header: http.Header{"X-Who": {"Ann"}}}}
	for range 2 {
		if err := once(opened(t, target)); err != nil || len(target.Requests) > 0 || len(target.Request.Header) != 1 {
			t.Errorf("%v, the target is now %+v", err, target)
		}
	}
}

// A server of gRPC is told the time limit.
func TestGRPCTimeout(t *testing.T) {
	t.Parallel()
	var limited atomic.Int64
	server := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, r any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < time.Minute {
			limited.Add(1)
		}
		return handler(ctx, r)
	}))
	grpc_testing.RegisterTestServiceServer(server, replying{})
	reflection.Register(server)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(l) }()
	defer server.Stop()
	r := sent(t, parsed(t, "http://"+l.Addr().String()), 5, 1, func(target *Target) {
		target.Proto, target.RPC, target.Timeout = "grpc", "grpc.testing.TestService/UnaryCall", 30*time.Second
		target.Request.Body = []byte(`{"responseSize":5000}`)
	})
	if wantOnly(t, r, 0, ""); limited.Load() != 5 {
		t.Errorf("%d of 5 calls had a time limit", limited.Load())
	}
}

type replying struct {
	grpc_testing.UnimplementedTestServiceServer
}

func (replying) UnaryCall(_ context.Context, r *grpc_testing.SimpleRequest) (*grpc_testing.SimpleResponse, error) {
	return &grpc_testing.SimpleResponse{Payload: &grpc_testing.Payload{Body: make([]byte, r.ResponseSize)}}, nil
}

// Without a rate too, a run ends after so many requests.
func TestMostRequests(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	sender := senderFunc(func(context.Context) error { n.Add(1); return nil })
	r, err := Run(t.Context(), Plan{Pacer: Constant{0, time.Hour}, Most: 77, Lines: lines(sender, sender, sender)})
	if err != nil || r.Done != 77 || n.Load() != 77 || r.Account.Begun != 0 {
		t.Errorf("%v: %d answered, %d sent", err, r.Done, n.Load())
	}
}

// What went over the connections is counted alike by each client.
func TestTraffic(t *testing.T) {
	t.Parallel()
	var accepted atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, 1000))
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			accepted.Add(1)
		}
	}
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	for _, target := range []Target{{Proto: "http1"}, {Proto: "http2"}, {Proto: "http1", Cookies: true}, {Proto: "http2", Cookies: true}} {
		accepted.Store(0)
		target.Conns, target.Streams, target.Request.URL = 3, 2, parsed(t, server.URL)
		target.TLS = server.Client().Transport.(*http.Transport).TLSClientConfig
		pool := opened(t, &target)
		for run := range 2 {
			r := measured(t, Plan{Pacer: Constant{100, 200 * time.Millisecond}, Lines: pool.Lines, Traffic: pool.Traffic})
			wantOnly(t, r, 0, "")
			n, made := r.Traffic, int64(3)
			if run > 0 { // over the connections of the first
				made = 0
			}
			if n.Connections != made || (n.Connecting > 0) != (made > 0) || n.Received < 20_000 || n.Received > 40_000 || n.Sent < 100 || n.Sent > 10_000 {
				t.Errorf("%s, cookies %v, run %d: %+v", target.Proto, target.Cookies, run, n)
			}
		}
		if n := accepted.Load(); n != 3 {
			t.Errorf("%s, cookies %v: the server saw %d connections", target.Proto, target.Cookies, n)
		}
	}
}
