//lint:file-ignore SA1019 deprecated in favour of net/http, which is what the row compares it with

package send

import (
	"context"
	"crypto/tls"
	"net"

	"golang.org/x/net/http2"
)

// xnetHTTP2 is HTTP/2 by golang.org/x/net/http2 at both ends. net/http has a copy of it built in,
// as of that Go release. This row uses the module's own version, without net/http's Transport above
// it (which first looks for a connection by itself), and without net/http's Server below it (which
// keeps a state of every connection, and hands over after ALPN).
//
// Note: built with Go 1.27 or later, the module only wraps net/http, and this row is the same code
// as net/http's.
func xnetHTTP2() *transport {
	return &transport{
		name: "proto=http2/lib=x-net", module: "golang.org/x/net", server: "xnet", version: "HTTP/2.0", alpn: "h2",
		settings: map[string]string{"lib": "golang.org/x/net/http2", "server": "golang.org/x/net/http2"},
		open: func(t *target) (client, error) {
			tr := &http2.Transport{
				AllowHTTP:          true,
				DisableCompression: true,
				DialTLSContext: func(ctx context.Context, _, _ string, _ *tls.Config) (net.Conn, error) {
					return t.dialTLS(ctx, "h2")
				},
			}
			c := newHTTPClient(t, tr, func() error { tr.CloseIdleConnections(); return nil })
			c.single = !t.spec.reuse
			return c, nil
		},
	}
}
