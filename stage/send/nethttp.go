package send

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"

	"postage/internal/service/greeter/hello"
)

// netHTTP1 is HTTP/1.1 by net/http.
func netHTTP1() *transport {
	return &transport{
		name: "proto=http1", server: "nethttp", version: "HTTP/1.1", alpn: "http/1.1",
		settings: map[string]string{"lib": "net/http", "server": "net/http"},
		open:     func(t *target) (client, error) { return openNetHTTP(t, "http/1.1"), nil },
	}
}

// netHTTP2 is HTTP/2 by net/http, with prior knowledge if there is no TLS.
func netHTTP2() *transport {
	return &transport{
		name: "proto=http2", server: "nethttp", version: "HTTP/2.0", alpn: "h2",
		settings: map[string]string{"lib": "net/http", "server": "net/http"},
		open:     func(t *target) (client, error) { return openNetHTTP(t, "h2"), nil },
	}
}

// netTransport is net/http's transport for one version of HTTP. For connections that must not be
// reused, keep-alives are disabled.
func netTransport(t *target, alpn string) *http.Transport {
	protocols := new(http.Protocols)
	switch {
	case alpn == "http/1.1":
		protocols.SetHTTP1(true)
	case t.tls != nil:
		protocols.SetHTTP2(true)
	default:
		protocols.SetUnencryptedHTTP2(true)
	}
	tr := &http.Transport{
		DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return t.dial(ctx) },
		Protocols:          protocols,
		DisableKeepAlives:  !t.spec.reuse,
		DisableCompression: true,
	}
	if t.tls != nil {
		tr.TLSClientConfig = t.tls.Clone()
		if alpn == "http/1.1" {
			// By default, a client with HTTP/1.1 only sends no ALPN, and the others do.
			tr.TLSClientConfig.NextProtos = []string{alpn}
		}
	}
	if t.spec.conns > 0 && alpn == "http/1.1" {
		tr.MaxConnsPerHost = 1
	}
	return tr
}

func openNetHTTP(t *target, alpn string) *httpClient {
	tr := netTransport(t, alpn)
	return newHTTPClient(t, tr, func() error { tr.CloseIdleConnections(); return nil })
}

// An httpClient calls through any implementation of net/http's interface.
type httpClient struct {
	*target
	http    http.Client
	url     string
	closing func() error
	// hangUp, if set, closes the connection after each operation.
	hangUp func() error
}

func newHTTPClient(t *target, tr http.RoundTripper, closing func() error) *httpClient {
	scheme := "http://"
	if t.tls != nil {
		scheme = "https://"
	}
	return &httpClient{target: t, http: http.Client{Transport: tr}, url: scheme + t.addr + "/", closing: closing}
}

func (c *httpClient) call(l *lane) error {
	body, err := c.spec.body.Marshal(l.request)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(c.ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", c.spec.body.ContentType)
	return c.do(l, r)
}

// do sends a request and checks the reply. If the connection must not be reused, it waits until the
// connection is closed.
func (c *httpClient) do(l *lane, r *http.Request) error {
	response, err := c.http.Do(r)
	if err != nil {
		return err
	}
	buffer := bytes.NewBuffer(l.buf[:0]) // which is kept
	_, err = buffer.ReadFrom(response.Body)
	l.buf = buffer.Bytes()
	if err := response.Body.Close(); err != nil {
		return err
	}
	if err != nil {
		return fmt.Errorf("read the response: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the server answers %s: %s", response.Status, bytes.TrimSpace(l.buf))
	}
	reply := new(hello.Reply)
	if err := c.spec.body.Unmarshal(l.buf, reply); err != nil {
		return err
	}
	if c.hangUp != nil {
		if err := c.hangUp(); err != nil {
			return err
		}
	}
	if !c.spec.reuse {
		c.wire.WaitClosed()
	}
	return l.check(reply)
}

func (c *httpClient) close() error {
	err := c.closing()
	c.wire.WaitClosed()
	return err
}
