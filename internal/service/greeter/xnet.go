//lint:file-ignore SA1019 deprecated in favour of net/http, which is what the row compares it with

package greeter

import (
	"context"
	"crypto/tls"
	"net"

	"golang.org/x/net/http2"
)

// xnet serves only HTTP/2, by golang.org/x/net/http2: by ALPN with TLS, by prior knowledge without.
func (h *host) xnet() (string, error) {
	s := new(http2.Server)
	return h.accept(func(conn net.Conn) {
		if secure, ok := conn.(*tls.Conn); ok && secure.HandshakeContext(context.Background()) != nil {
			return
		}
		s.ServeConn(conn, &http2.ServeConnOpts{Handler: h})
	}, "h2")
}
