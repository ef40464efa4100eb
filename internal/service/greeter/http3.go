package greeter

import (
	"context"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// http3 serves HTTP/3 by quic-go.
func (h *host) http3() (string, error) {
	conn, config, err := h.quicSocket(http3.NextProtoH3)
	if err != nil {
		return "", err
	}
	s := &http3.Server{
		Handler:    h,
		TLSConfig:  config,
		QUICConfig: &quic.Config{Allow0RTT: h.config.Early},
		ConnContext: func(ctx context.Context, c *quic.Conn) context.Context {
			h.wire.Conns.Add(1)
			go h.seenWhenDone(c)
			return ctx
		},
	}
	go func() { _ = s.Serve(conn) }()
	return conn.LocalAddr().String(), nil
}

// seenWhenDone counts a connection after its handshake: only then does it know about early data.
func (h *host) seenWhenDone(c *quic.Conn) {
	select {
	case <-c.HandshakeComplete():
	case <-c.Context().Done():
	}
	h.seen.quicConn(c)
}
