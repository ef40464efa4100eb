package send

import (
	"bufio"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"

	"postage/internal/service/greeter/hello"
)

// rawTCP is the floor of one write and one read on a TCP connection.
func rawTCP() *transport {
	return &transport{
		name: "floor=tcp", server: "tcp", floor: true, unnamed: true,
		settings: map[string]string{"lib": "net"},
		open:     func(t *target) (client, error) { return openStream(t, t.connectTCP) },
	}
}

// rawTLS is the same on a TLS connection.
func rawTLS() *transport {
	tr := rawTCP()
	tr.name, tr.server = "floor=tls", "tls"
	tr.settings = map[string]string{"lib": "crypto/tls"}
	return tr
}

func (t *target) connectTCP() (io.ReadWriteCloser, error) { return t.dialTLS(t.ctx) }

// A streamClient sends frames in ping-pong. The request is encoded once, and so is the reply at the
// other end: that is the least that any protocol has to do.
type streamClient struct {
	*target
	connect func() (io.ReadWriteCloser, error)
	mu      sync.Mutex // held during a ping-pong, since a stream can carry only one
	kept    *stream    // nil if connections are not reused
	ping    []byte
}

type stream struct {
	io.ReadWriteCloser
	in *bufio.Reader
}

func openStream(t *target, connect func() (io.ReadWriteCloser, error)) (client, error) {
	return &streamClient{target: t, connect: connect}, nil
}

func (c *streamClient) call(l *lane) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ping == nil {
		body, err := c.spec.body.Marshal(l.request)
		if err != nil {
			return err
		}
		c.ping = hello.AppendFrame(nil, body)
	}
	s := c.kept
	if s == nil {
		conn, err := c.connect()
		if err != nil {
			return err
		}
		s = &stream{conn, bufio.NewReaderSize(conn, 64<<10)}
		if c.spec.reuse {
			c.kept = s
		}
	}
	err := c.pingPong(s, l)
	if !c.spec.reuse {
		err = errors.Join(err, closed(s.Close()))
		c.wire.WaitClosed()
	}
	return err
}

// pingPong decodes the reply in the proof only. Otherwise it only checks its length.
func (c *streamClient) pingPong(s *stream, l *lane) (err error) {
	if _, err = s.Write(c.ping); err != nil {
		return err
	}
	if l.buf, err = hello.ReadFrame(s.in, l.buf); err != nil {
		return err
	}
	if !l.through {
		if len(l.buf) < len(l.payload) {
			return errors.New("the reply is too short")
		}
		return nil
	}
	reply := new(hello.Reply)
	if err := c.spec.body.Unmarshal(l.buf, reply); err != nil {
		return err
	}
	return l.check(reply)
}

func (c *streamClient) close() error {
	if c.kept == nil {
		return nil
	}
	return closed(c.kept.Close())
}

// closed ignores the error if the other end closed first.
func closed(err error) error {
	if errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		return nil
	}
	return err
}
