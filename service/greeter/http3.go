package greeter

import (
	"context"
	"errors"
	"net"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// http3 serves HTTP/3 by quic-go.
func (h *host) http3() (string, server, error) {
	config, err := h.tls(http3.NextProtoH3)
	if err != nil {
		return "", nil, err
	}
	if config == nil {
		return "", nil, errors.New("RFC 9001: QUIC has no cleartext")
	}
	conn, err := h.udp()
	if err != nil {
		return "", nil, err
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
	return conn.LocalAddr().String(), http3Server{s, conn}, nil
}

// seenWhenDone takes note of a connection once its handshake is done: not before is it
// known whether early data was taken.
func (h *host) seenWhenDone(c *quic.Conn) {
	select {
	case <-c.HandshakeComplete():
	case <-c.Context().Done():
	}
	h.seen.quicConn(c)
}

type http3Server struct {
	*http3.Server
	conn net.PacketConn
}

func (s http3Server) close() error { return errors.Join(s.Server.Close(), s.conn.Close()) }
