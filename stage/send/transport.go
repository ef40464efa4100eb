package send

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/quic-go/quic-go"

	"postage/internal/service/greeter"
	"postage/internal/service/greeter/hello"
	"postage/internal/service/greeter/wire"
	"postage/internal/service/tlscert"
	"postage/internal/sys/link"
)

// A transport is one way to send a message: a protocol by a library.
type transport struct {
	name     string            // "proto=http1/lib=fasthttp"
	module   string            // path of the Go module that does the client's work
	server   string            // the kind of server that answers
	settings map[string]string // more settings, for readers of the record
	floor    bool
	// version is the request's protocol as the server must see it; alpn is what TLS must have
	// agreed on.
	version, alpn string
	// quic says that it goes over QUIC, which has no cleartext and can send before the handshake is
	// done.
	quic bool
	// unnamed says that the server's reply does not name the protocol.
	unnamed bool
	// idle is how long it keeps an unused connection, if that may be shorter than the time between
	// two batches; otherwise 0.
	idle time.Duration
	// handshakeOnly says that it sends no message.
	handshakeOnly bool
	// open makes a client. The client may connect now or later.
	open func(t *target) (client, error)
}

// A client does operations. Several goroutines use it at the same time if they share a connection.
type client interface {
	// call does one operation and checks the answer with l.check. If connections are not reused, it
	// connects and closes too.
	call(l *lane) error
	// close ends what call has left open.
	close() error
}

// A target says what a client talks to, and how.
type target struct {
	ctx  context.Context // for requests; it never ends
	addr string
	// place is the end of a link where its sockets are, nil for this machine's own network.
	place *link.End
	// lost ends when the server has ended: UDP would wait for it.
	lost context.Context
	tls  *tls.Config // nil without TLS
	spec *spec
	// wire counts this client's bytes and connections.
	wire *wire.Count
}

// dial makes a counted TCP connection.
func (t *target) dial(ctx context.Context) (net.Conn, error) {
	conn, err := t.place.Dial(ctx, t.addr)
	if errors.Is(err, syscall.EADDRNOTAVAIL) {
		return nil, fmt.Errorf("ephemeral ports are exhausted by connections in TIME_WAIT, set net.ipv4.tcp_tw_reuse to 2: %w", err)
	}
	if err != nil {
		return nil, err
	}
	return t.wire.Conn(conn), nil
}

// dialTLS makes a counted TCP connection and does the handshake on it.
func (t *target) dialTLS(ctx context.Context) (net.Conn, error) {
	conn, err := t.dial(ctx)
	if err != nil || t.tls == nil {
		return conn, err
	}
	secure := tls.Client(conn, t.tls)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return secure, nil
}

// quicSocket makes a counted UDP socket, which the client closes, and finds the server's address.
func (t *target) quicSocket() (socket *quic.Transport, to net.Addr, err error) {
	if to, err = net.ResolveUDPAddr("udp", t.addr); err != nil {
		return nil, nil, err
	}
	conn, err := t.place.ListenUDP("")
	if err != nil {
		return nil, nil, err
	}
	return &quic.Transport{Conn: t.wire.Packets(conn)}, to, nil
}

// A lane is one goroutine's share of the work.
type lane struct {
	client  client
	request *hello.Request
	want    string // the reply's text
	payload []byte // and its payload
	// through makes check look at the whole reply, not only at its text and length.
	through bool
	buf     []byte // for anything that a client needs and keeps
	// take, if set, is given the reply's payload in place of any check.
	take func(payload []byte) error
}

// check looks at a reply.
func (l *lane) check(reply *hello.Reply) error {
	if l.take != nil {
		return l.take(reply.Payload)
	}
	if reply.Response != l.want {
		return fmt.Errorf("the reply is %q, want %q", reply.Response, l.want)
	}
	if len(reply.Payload) != len(l.payload) {
		return fmt.Errorf("the reply's payload is %d bytes, want the request's %d", len(reply.Payload), len(l.payload))
	}
	if l.through && string(reply.Payload) != string(l.payload) {
		return errors.New("the reply's payload is not the request's")
	}
	return nil
}

// clientTLS returns the client's configuration: it trusts only the server's certificate.
func clientTLS(pair *tlscert.Pair, resume resume, seen *handshakes) *tls.Config {
	config := &tls.Config{
		RootCAs:          pair.Pool(),
		ServerName:       tlscert.ServerName,
		VerifyConnection: seen.add,
	}
	if resume != resumeNo {
		config.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	}
	return config
}

// serverConfig returns the server's configuration for the transport.
func (t *transport) serverConfig(s *spec, pair *tlscert.Pair) greeter.Config {
	c := greeter.Config{Server: t.server, Body: s.body.Name, Early: s.resume == resumeEarly, Answer: s.answer}
	if s.tls {
		c.Cert = pair
	}
	return c
}
