package load

import (
	"context"
	"net/http"
	"sync"
)

// A clientConn is one connection of net/http. A new one replaces it when it has ended.
type clientConn struct {
	target *Target
	tr     *http.Transport
	mu     sync.Mutex
	conn   *http.ClientConn
}

func newClientConn(t *Target) *clientConn {
	protocols, alpn := new(http.Protocols), "http/1.1"
	if t.Proto == "http2" {
		protocols.SetHTTP2(true)
		protocols.SetUnencryptedHTTP2(true)
		alpn = "h2"
	} else {
		protocols.SetHTTP1(true)
	}
	return &clientConn{target: t, tr: &http.Transport{DialContext: t.dialPlain, TLSClientConfig: t.tls(alpn), Protocols: protocols, DisableCompression: true}}
}

func (c *clientConn) get(ctx context.Context) (*http.ClientConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil && c.conn.Err() == nil {
		return c.conn, nil
	}
	if c.conn != nil {
		_ = c.conn.Close()
	}
	ctx, cancel := c.target.limited(ctx, "connection")
	defer cancel()
	var err error
	c.conn, err = c.tr.NewClientConn(ctx, c.target.Request.URL.Scheme, "localhost:0") // dialPlain does not use it
	return c.conn, err
}

func (c *clientConn) RoundTrip(r *http.Request) (*http.Response, error) {
	conn, err := c.get(r.Context())
	if err != nil {
		return nil, err
	}
	return conn.RoundTrip(r)
}

func (c *clientConn) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		return nil
	}
	defer func() { c.conn = nil }()
	return c.conn.Close()
}
