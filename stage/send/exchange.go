package send

import (
	"context"
	"fmt"

	"postage/internal/service/greeter"
	"postage/internal/service/greeter/hello"
	"postage/internal/service/greeter/wire"
	"postage/internal/service/tlscert"
)

// Exchange carries bytes of the caller's by one of the stage's protocols, over a kept connection
// with TLS, to a server of the caller's. It is for one goroutine.
type Exchange struct {
	transport *transport
	client    client
	lane      lane
	wire      wire.Count
	seen      handshakes
}

// Protocol is what Dial needs to know of a protocol and its server.
type Protocol struct {
	transport *transport
	pair      *tlscert.Pair
	// Server is what its server is configured with, for [greeter.Listen].
	Server greeter.Config
}

// NewProtocol returns a protocol by the name that its rows have, with a certificate of its own.
func NewProtocol(name string) (*Protocol, error) {
	for _, t := range append(everyProtocol(), rawTLS()) {
		if t.name != name {
			continue
		}
		pair, err := tlscert.New(tlscert.ECDSAP256)
		if err != nil {
			return nil, err
		}
		s := carrying()
		return &Protocol{transport: t, pair: pair, Server: t.serverConfig(&s, pair)}, nil
	}
	return nil, fmt.Errorf("send: there is no protocol %q", name)
}

// carrying is what an exchange holds fixed: one kept connection with TLS, for the caller's bytes.
func carrying() spec {
	s := fixed()
	s.body, s.inflight, s.conns = hello.Raw, 1, 1
	return s
}

// Dial opens a client for the server at addr, over a network or, if that is nil, over this
// machine's own. gone ends when the server has.
func (p *Protocol) Dial(ctx context.Context, network *Network, addr string, ended <-chan struct{}) (*Exchange, error) {
	lost, lose := context.WithCancel(context.Background())
	go func() {
		<-ended
		lose()
	}()
	x, s := &Exchange{transport: p.transport}, carrying()
	t := &target{ctx: context.WithoutCancel(ctx), lost: lost, addr: addr, place: network.near(), spec: &s, wire: &x.wire}
	t.tls = clientTLS(p.pair, s.resume, &x.seen)
	var err error
	if x.client, err = p.transport.open(t); err != nil {
		return nil, fmt.Errorf("send: open a client of %s: %w", p.transport.name, err)
	}
	x.lane = lane{client: x.client, request: new(hello.Request), through: true}
	return x, nil
}

// Call sends a request and gives its answer to take, which must not keep it. A floor sends its
// first request again and again.
func (x *Exchange) Call(request []byte, take func(answer []byte) error) error {
	x.lane.request.Payload, x.lane.take = request, take
	return x.client.call(&x.lane)
}

// Wire is how many bytes have been sent and received, with what TLS adds.
func (x *Exchange) Wire() (out, in int64) { return x.wire.Out.Load(), x.wire.In.Load() }

// Proven returns an error if what the server has seen is not this protocol over one connection
// with TLS 1.3, of those that stand.
func (x *Exchange) Proven(seen func() (greeter.Counters, error), again func() error) error {
	c, more, err := x.transport.standing(1, seen, again)
	if err != nil {
		return err
	}
	c.Conns -= more
	c.Handshakes -= more
	if c.Conns != 1 || c.Handshakes != 1 {
		return fmt.Errorf("send: the server saw %d connections and %d TLS handshakes, want one that is kept", c.Conns, c.Handshakes)
	}
	if c.Proto != x.transport.version || c.ALPN != x.transport.alpn {
		return fmt.Errorf("send: the server saw requests of %q by ALPN %q, want %q by %q", c.Proto, c.ALPN, x.transport.version, x.transport.alpn)
	}
	if c.TLS != "TLS 1.3" {
		return fmt.Errorf("send: the server saw %s, want TLS 1.3", c.TLS)
	}
	return nil
}

// givesUp reports whether the client may give up a kept connection: net/http's does where its own
// writer reports a request over 50 ms after the answer, as on a starved machine.
func (t *transport) givesUp() bool { return t.version == "HTTP/1.1" && t.server != "fasthttp" }

// standing asks what the server has seen. If a client that may give up connections made more than
// those kept, again sends requests once more, which must all take connections that stand.
func (t *transport) standing(kept int64, seen func() (greeter.Counters, error), again func() error) (c greeter.Counters, more int64, err error) {
	c, err = seen()
	if more = max(0, c.Conns-kept); err != nil || more == 0 || !t.givesUp() {
		return c, 0, err
	}
	if err = again(); err == nil {
		c, err = seen()
	}
	return c, more, err
}

// Close closes the connection.
func (x *Exchange) Close() error { return x.client.close() }
