package send

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
)

// handshakeAlone is the floor of a new TLS connection: connect, shake hands, and wait until the
// server, which has then finished its part, closes.
func handshakeAlone() *transport {
	return &transport{
		name: "floor=handshake", server: "handshake", floor: true, unnamed: true, handshakeOnly: true,
		settings: map[string]string{"lib": "crypto/tls"},
		open:     func(t *target) (client, error) { return handshakeClient{t}, nil },
	}
}

type handshakeClient struct{ *target }

func (c handshakeClient) call(l *lane) error {
	conn, err := c.dialTLS(c.ctx)
	if err != nil {
		return err
	}
	if l.buf == nil {
		l.buf = make([]byte, 1)
	}
	n, err := conn.(*tls.Conn).Read(l.buf)
	if n != 0 || !errors.Is(err, io.EOF) {
		err = fmt.Errorf("after the handshake came %d bytes (%v), want the end", n, err)
	} else {
		err = nil
	}
	err = errors.Join(err, closed(conn.Close()))
	c.wire.WaitClosed()
	return err
}

func (c handshakeClient) close() error { return nil }
