package send

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// noCleartext is the reason why there is no QUIC without TLS.
const noCleartext = "RFC 9001: QUIC has no cleartext"

// quicHTTP3 is HTTP/3 by quic-go. The connections of one client share a UDP socket, new ones too,
// as is usual with the library.
func quicHTTP3() *transport {
	return &transport{
		name: "proto=http3", module: "github.com/quic-go/quic-go", server: "http3",
		version: "HTTP/3.0", alpn: http3.NextProtoH3, quic: true,
		settings: map[string]string{"lib": "quic-go", "server": "quic-go", "socket": "shared"},
		idle:     30 * time.Second, // quic.Config.MaxIdleTimeout
		open:     openHTTP3,
	}
}

func openHTTP3(t *target) (client, error) {
	socket, addr, err := t.quicSocket()
	if err != nil {
		return nil, err
	}
	tr := &http3.Transport{
		TLSClientConfig:    t.tls.Clone(),
		DisableCompression: true,
		Dial: func(ctx context.Context, _ string, tlsConfig *tls.Config, config *quic.Config) (*quic.Conn, error) {
			return socket.DialEarly(ctx, addr, tlsConfig, config)
		},
	}
	stop := context.AfterFunc(t.lost, func() { _ = socket.Close() })
	c := newHTTPClient(t, tr, func() error { stop(); return errors.Join(tr.Close(), socket.Close(), socket.Conn.Close()) })
	if !t.spec.reuse {
		c.hangUp = func() error { tr.CloseIdleConnections(); return nil }
	}
	if t.spec.resume == resumeEarly {
		return &earlyHTTP3{c}, nil
	}
	return c, nil
}

// earlyHTTP3 sends its request in the first flight. Only a GET may be sent so, because it can be
// replayed (RFC 8470). The request's text is in the query instead of a body.
type earlyHTTP3 struct{ *httpClient }

func (c *earlyHTTP3) call(l *lane) error {
	r, err := http.NewRequestWithContext(c.ctx, http3.MethodGet0RTT, c.url+"?secure="+url.QueryEscape(l.request.Secure), nil)
	if err != nil {
		return err
	}
	return c.do(l, r)
}
