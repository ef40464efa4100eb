package send

import (
	"context"
	"errors"
	"io"

	"github.com/quic-go/quic-go"

	"postage/internal/service/greeter"
)

// rawQUIC is the floor of one write and one read on a QUIC stream.
func rawQUIC() *transport {
	return &transport{
		name: "floor=quic", module: "github.com/quic-go/quic-go", server: "quic", floor: true, unnamed: true,
		quic: true, alpn: greeter.QUICALPN,
		settings: map[string]string{"lib": "quic-go", "socket": "shared"},
		open:     openQUIC,
	}
}

type quicClient struct {
	client
	socket *quic.Transport
	stop   func() bool
}

func openQUIC(t *target) (client, error) {
	socket, addr, err := t.quicSocket()
	if err != nil {
		return nil, err
	}
	config := t.tls.Clone()
	config.NextProtos = []string{greeter.QUICALPN}
	streams, err := openStream(t, func() (io.ReadWriteCloser, error) {
		dial := socket.Dial
		if t.spec.resume == resumeEarly {
			dial = socket.DialEarly
		}
		c, err := dial(t.ctx, addr, config, nil)
		if err != nil {
			return nil, err
		}
		s, err := c.OpenStream()
		if err != nil {
			return nil, errors.Join(err, c.CloseWithError(0, ""))
		}
		return &quicStream{s, c}, nil
	})
	stop := context.AfterFunc(t.lost, func() { _ = socket.Close() })
	return &quicClient{streams, socket, stop}, err
}

func (c *quicClient) close() error {
	c.stop()
	return errors.Join(c.client.close(), c.socket.Close(), c.socket.Conn.Close())
}

// quicStream is the only stream of a connection; both are closed together.
type quicStream struct {
	io.ReadWriter
	conn *quic.Conn
}

func (s *quicStream) Close() error { return s.conn.CloseWithError(0, "") }
