package greeter

import (
	"context"
	"errors"

	"github.com/quic-go/quic-go"
)

// QUICALPN is the protocol name that QUIC's floors negotiate: QUIC requires one.
const QUICALPN = "postage-ping-pong"

// quicPingPong is the floor of a raw QUIC stream.
func (h *host) quicPingPong() (string, error) {
	conn, config, err := h.quicSocket(QUICALPN)
	if err != nil {
		return "", err
	}
	l, err := quic.ListenEarly(conn, config, &quic.Config{Allow0RTT: h.config.Early})
	if err != nil {
		return "", errors.Join(err, conn.Close())
	}
	ctx := context.Background()
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
	return conn.LocalAddr().String(), nil
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
