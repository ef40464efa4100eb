package load

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Target says what to talk to and how.
type Target struct {
	// Proto is http1, http2, grpc, websocket or sse.
	Proto string
	// Conns is the number of connections. Streams is the number of requests under way at a time on
	// each; it is 1 for http1.
	Conns, Streams int
	// Loops is how many threads serve the connections of HTTP/1.1, HTTP/2 and gRPC's single requests;
	// 0 is one a processor.
	Loops int
	// Timeout is how long making a connection may take, and how long a request may wait for its
	// answer after it was sent; 0 is no limit.
	Timeout time.Duration
	// Cookies gives each request that may be under way at a time a cookie jar of its own, for
	// http1 and http2.
	Cookies bool
	// TLS is used for https and wss. With nil, the system's root certificates are trusted.
	TLS *tls.Config
	// Request is sent; for grpc its URL says where to, and its body is the message as JSON.
	Request Request
	// Requests, if not empty, are sent instead, in turn. All must go to the same server.
	Requests []Request
	// RPC is the method, "pkg.Service/Method", for grpc, which ignores Request.Method.
	RPC string
	// Messages is how many messages a gRPC stream sends, for methods that take several; 0 means 1.
	Messages int
	// ConnectTo, if set, is where connections go in place of the URL's host and port: another host
	// and port, or the path of a UNIX socket. TLS and the request still name the URL's host.
	ConnectTo string
	// Expect, if set, says which HTTP statuses are successes in place of 2xx.
	Expect func(status int) bool
	// Body, if set, returns why a successful answer's body is a failure all the same, for http1,
	// http2.
	Body func(body []byte) error
	// ProtoFile, if set, is a .proto file or a descriptor set that describes the method. What the
	// file imports is looked for in ProtoPaths and beside it.
	ProtoFile  string
	ProtoPaths []string

	meter *meter
	plain bool // without loops, as on other systems than Linux
	// lookup is for tests.
	lookup func(ctx context.Context, host string) (addresses []string, err error)
}

// All are the requests that are sent in turn.
func (t *Target) All() []Request {
	if len(t.Requests) == 0 {
		return []Request{t.Request}
	}
	return t.Requests
}

// Pool is a target's connections.
type Pool struct {
	Lines   []Line
	closers []func() error
	meter   *meter
}

// Close ends all connections.
func (p *Pool) Close() error {
	var errs []error
	for _, c := range p.closers {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}

// Open makes the lines. They connect when a run begins, and stay connected from one run to the
// next. For gRPC without a .proto file, Open first asks the server about the method over a
// connection of its own.
func Open(ctx context.Context, t *Target) (*Pool, error) {
	if t.Conns < 1 || t.Streams < 1 {
		return nil, fmt.Errorf("load: %d connections with %d streams cannot send", t.Conns, t.Streams)
	}
	open, ok := map[string]func(context.Context, *Target, *Pool) error{
		"http1": openHTTP1, "http2": openHTTP2, "grpc": openGRPC, "websocket": openWebSocket,
		"sse": openEvents,
	}[t.Proto]
	if !ok {
		return nil, fmt.Errorf("load: unknown protocol %q: want http1, http2, grpc, websocket or sse", t.Proto)
	}
	clone := *t // the caller's stays as it is
	t = &clone
	t.meter = new(meter)
	t.plain = t.plain || !hasLoops
	if err := t.checkRequests(); err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	if t.Cookies || t.Body != nil || t.plain && strings.HasPrefix(t.Proto, "http") {
		open = openExchanges
	}
	if !t.Cookies && t.linked() {
		return nil, errors.New("load: {{.json.…}}, {{.header.…}} and {{.cookie.…}} are values of a visitor's earlier answers: visitors come with cookies (--cookies)")
	}
	p := &Pool{meter: t.meter}
	if err := open(ctx, t, p); err != nil {
		return nil, errors.Join(fmt.Errorf("load: %w", err), p.Close())
	}
	return p, nil
}

// checkRequests completes the requests and rejects those that cannot be sent.
func (t *Target) checkRequests() error {
	t.Requests = slices.Clone(t.All())
	first := t.Requests[0].URL
	for i := range t.Requests {
		r := &t.Requests[i]
		if err := r.check(t.Proto); err != nil {
			return err
		}
		if socket := r.URL.Scheme == "ws" || r.URL.Scheme == "wss"; socket != (t.Proto == "websocket") {
			return fmt.Errorf("%s cannot be sent by %s: ws and wss URLs go with websocket, and it with no others", r.URL.Redacted(), t.Proto)
		}
		if r.URL.Scheme != first.Scheme || r.URL.Host != first.Host {
			return fmt.Errorf("requests to %s://%s and to %s://%s: all must go to one server", first.Scheme, first.Host, r.URL.Scheme, r.URL.Host)
		}
	}
	t.Request = t.Requests[0]
	return nil
}

// inTurn returns a function that returns the things in turn. Several goroutines may call it.
func inTurn[T any](all []T) func() T {
	if len(all) == 1 {
		return func() T { return all[0] }
	}
	var n atomic.Uint64
	return func() T { return all[(n.Add(1)-1)%uint64(len(all))] }
}

func (t *Target) secure() bool {
	return t.Request.URL.Scheme == "https" || t.Request.URL.Scheme == "wss"
}

// dialPlain connects to the target, whatever network and address a library asks for. What is
// written and read is counted.
func (t *Target) dialPlain(ctx context.Context, _, _ string) (net.Conn, error) {
	began, first := time.Now(), t.meter.tried.Add(1)
	network, all, err := t.addresses(ctx)
	for i := range all { // the next address, or where that does not answer another
		at := (first + int64(i)) % int64(len(all))
		var conn net.Conn
		if conn, err = new(net.Dialer).DialContext(ctx, network, all[at]); err == nil {
			t.meter.connections.Add(1)
			t.meter.connecting.Add(time.Since(began).Nanoseconds())
			return metered{conn, t.meter}, nil
		}
	}
	return nil, err
}

// addresses are those of the target's name, or the path of a UNIX socket.
func (t *Target) addresses(ctx context.Context) (network string, all []string, err error) {
	if strings.Contains(t.ConnectTo, "/") {
		return "unix", []string{t.ConnectTo}, nil
	}
	host, port, err := net.SplitHostPort(t.addr())
	if err != nil {
		return "", nil, err
	}
	lookup := t.lookup
	if lookup == nil {
		lookup = net.DefaultResolver.LookupHost
	}
	found, err := lookup(ctx, host)
	for _, address := range found {
		all = append(all, net.JoinHostPort(address, port))
	}
	return "tcp", all, err
}

// addr is the address with its port.
func (t *Target) addr() string {
	u, port := t.Request.URL, "80"
	if t.secure() {
		port = "443"
	}
	return cmp.Or(t.ConnectTo, net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port)))
}

// tls returns a configuration for the protocol, a copy of the target's.
func (t *Target) tls(alpn string) *tls.Config {
	config := &tls.Config{}
	if t.TLS != nil {
		config = t.TLS.Clone()
	}
	config.ServerName = cmp.Or(config.ServerName, t.Request.URL.Hostname())
	config.NextProtos = []string{alpn}
	return config
}

// dial makes a connection, with TLS over records if it is used.
func (t *Target) dial(alpn string) func(ctx context.Context) (net.Conn, error) {
	config := t.tls(alpn)
	return func(whole context.Context) (conn net.Conn, err error) {
		ctx, cancel := t.limited(whole, "connection")
		defer cancel()
		defer func() {
			// Package net's and the socket's deadlines may pass a moment before the context's.
			passed := ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
			if err != nil && passed && whole.Err() == nil {
				err = t.late("connection")
			}
		}()
		conn, err = t.dialPlain(ctx, "", "")
		if err != nil || !t.secure() {
			return conn, err
		}
		secure := tls.Client(&records{Conn: conn}, config)
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		// A server without ALPN speaks HTTP/1.1: RFC 9112 section 9.7.
		if got := secure.ConnectionState().NegotiatedProtocol; got != alpn && (alpn != "http/1.1" || got != "") {
			return nil, errors.Join(fmt.Errorf("the server does not speak %s: ALPN agreed on %q", alpn, got), conn.Close())
		}
		return secure, nil
	}
}

// limited returns a context that ends when a connection or an answer is late, with that as its cause.
func (t *Target) limited(ctx context.Context, what string) (context.Context, context.CancelFunc) {
	if t.Timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, t.Timeout, t.late(what))
}

// late returns the error of a connection or an answer that takes longer than Timeout.
func (t *Target) late(what string) error { return fmt.Errorf("no %s within %v", what, t.Timeout) }

// unsuccessful returns the failure that an answer's status means, nil for a success.
func (t *Target) unsuccessful(status int) error {
	if t.Expect != nil && !t.Expect(status) || t.Expect == nil && (status < 200 || status > 299) {
		return fmt.Errorf("status %d", status)
	}
	return nil
}

// succeeded returns the status of an HTTP answer, and an error if it is not a success.
func (t *Target) succeeded(s *stream) (status int, err error) {
	if s.status == 0 {
		return 0, errors.New("the answer has no status")
	}
	return s.status, t.unsuccessful(s.status)
}
