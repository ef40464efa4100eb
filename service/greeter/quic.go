package greeter

import (
	"context"
	"errors"
	"net"

	"github.com/quic-go/quic-go"
)

// QUICALPN is what the floors of QUIC negotiate: QUIC insists on a name.
const QUICALPN = "postage-ping-pong"

// quicPingPong is the floor of a raw QUIC stream.
func (h *host) quicPingPong() (string, server, error) {
	config, err := h.tls(QUICALPN)
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
	l, err := quic.ListenEarly(conn, config, &quic.Config{Allow0RTT: h.config.Early})
	if err != nil {
		return "", nil, errors.Join(err, conn.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for {
			c, err := l.Accept(ctx)
			if err != nil {
				return
			}
			h.wire.Conns.Add(1)
			go h.seenWhenDone(c)
			go h.serveStreams(ctx, c)
		}
	}()
	return conn.LocalAddr().String(), quicServer{l, conn, cancel}, nil
}

func (h *host) serveStreams(ctx context.Context, c *quic.Conn) {
	for {
		s, err := c.AcceptStream(ctx)
		if err != nil {
			return
		}
		go func() {
			defer s.Close()
			h.pong(s)
		}()
	}
}

type quicServer struct {
	*quic.EarlyListener
	conn   net.PacketConn
	cancel context.CancelFunc
}

func (s quicServer) close() error {
	s.cancel()
	return errors.Join(s.EarlyListener.Close(), s.conn.Close())
}
