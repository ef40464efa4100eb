package load

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// Request is what is sent.
type Request struct {
	Method string
	URL    *url.URL // its scheme says whether TLS is used: http or https
	Header http.Header
	Body   []byte
}

// Target says what to talk to and how.
type Target struct {
	// Proto is http1, http2, http3 or grpc.
	Proto string
	// Conns is the number of connections; Streams the number of requests under way on
	// each at a time, which is 1 for http1.
	Conns, Streams int
	// TLS is used for https, nil for the system's trust.
	TLS *tls.Config
	// Request is what is sent; for grpc its URL says where to and its body is the
	// message as JSON.
	Request Request
	// RPC is the method, "pkg.Service/Method", for grpc.
	RPC string
	// ProtoFile, where set, is a .proto file that describes the method.
	ProtoFile string
}

// Pool is a target's senders.
type Pool struct {
	Senders []Sender
	closers []func() error
}

// Close ends all connections.
func (p *Pool) Close() error {
	var errs []error
	for _, c := range p.closers {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}

// Open makes the senders. HTTP connects with the first request, gRPC at once.
func Open(ctx context.Context, t *Target) (*Pool, error) {
	if t.Conns < 1 || t.Streams < 1 {
		return nil, fmt.Errorf("load: %d connections with %d streams cannot send", t.Conns, t.Streams)
	}
	open, ok := map[string]func(context.Context, *Target, *Pool) error{
		"http1": openHTTP1, "http2": openHTTP2, "http3": openHTTP3, "grpc": openGRPC,
	}[t.Proto]
	if !ok {
		return nil, fmt.Errorf("load: unknown protocol %q: want http1, http2, http3 or grpc", t.Proto)
	}
	if t.Request.Header == nil {
		t.Request.Header = http.Header{}
	}
	p := new(Pool)
	if err := open(ctx, t, p); err != nil {
		return nil, errors.Join(fmt.Errorf("load: %w", err), p.Close())
	}
	return p, nil
}

// secure says whether TLS is used.
func (t *Target) secure() bool { return t.Request.URL.Scheme == "https" }

// addr is the address with its port.
func (t *Target) addr() string {
	if t.Request.URL.Port() != "" {
		return t.Request.URL.Host
	}
	if t.secure() {
		return net.JoinHostPort(t.Request.URL.Hostname(), "443")
	}
	return net.JoinHostPort(t.Request.URL.Hostname(), "80")
}

// tls is a configuration of one's own for the protocol.
func (t *Target) tls(alpn string) *tls.Config {
	config := &tls.Config{}
	if t.TLS != nil {
		config = t.TLS.Clone()
	}
	if config.ServerName == "" {
		config.ServerName = t.Request.URL.Hostname()
	}
	config.NextProtos = []string{alpn}
	return config
}

func openHTTP1(_ context.Context, t *Target, p *Pool) error {
	config := t.tls("http/1.1")
	dial := func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "tcp", t.addr())
		if err != nil || !t.secure() {
			return conn, err
		}
		secure := tls.Client(conn, config)
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return secure, nil
	}
	for range t.Conns {
		h := newHTTP1(&t.Request, dial)
		p.Senders = append(p.Senders, h)
		p.closers = append(p.closers, h.Close)
	}
	return nil
}

func openHTTP2(_ context.Context, t *Target, p *Pool) error {
	for range t.Conns {
		protocols := new(http.Protocols)
		protocols.SetHTTP2(t.secure())
		protocols.SetUnencryptedHTTP2(!t.secure())
		tr := &http.Transport{
			Protocols: protocols, DisableCompression: true, TLSClientConfig: t.tls("h2"),
			MaxConnsPerHost: 1, // else it begins with one for each stream
		}
		p.add(t, tr, func() error { tr.CloseIdleConnections(); return nil })
	}
	return nil
}

func openHTTP3(_ context.Context, t *Target, p *Pool) error {
	if !t.secure() {
		return errors.New("RFC 9001: QUIC has no cleartext; give an https URL")
	}
	for range t.Conns {
		tr := &http3.Transport{TLSClientConfig: t.tls(http3.NextProtoH3), QUICConfig: &quic.Config{}, DisableCompression: true}
		p.add(t, tr, tr.Close)
	}
	return nil
}

// add adds a connection's senders.
func (p *Pool) add(t *Target, tr http.RoundTripper, closer func() error) {
	p.closers = append(p.closers, closer)
	for range t.Streams {
		p.Senders = append(p.Senders, &roundTripper{tr: tr, request: &t.Request})
	}
}
