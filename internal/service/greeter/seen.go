package greeter

import (
	"crypto/tls"
	"sync/atomic"

	"github.com/quic-go/quic-go"
)

// seen counts what clients did. A request costs two atomic operations.
type seen struct {
	requests, handshakes, resumed, early atomic.Int64

	proto, alpn, tls, quic atomic.Pointer[string]
}

// request counts a request and says how many there have been.
func (s *seen) request(proto string) int64 {
	if last := s.proto.Load(); last == nil || *last != proto {
		s.proto.Store(&proto)
	}
	return s.requests.Add(1)
}

// handshake counts a handshake. crypto/tls calls it as Config.VerifyConnection, also for resumed
// handshakes.
func (s *seen) handshake(state tls.ConnectionState) error {
	s.handshakes.Add(1)
	if state.DidResume {
		s.resumed.Add(1)
	}
	version := tls.VersionName(state.Version)
	s.alpn.Store(&state.NegotiatedProtocol)
	s.tls.Store(&version)
	return nil
}

// quicConn notes a connection's version, and whether it took early data.
func (s *seen) quicConn(conn *quic.Conn) {
	state := conn.ConnectionState()
	version := state.Version.String()
	s.quic.Store(&version)
	if state.Used0RTT {
		s.early.Add(1)
	}
}

func (s *seen) fill(c *Counters) {
	c.Requests, c.Handshakes, c.Resumed, c.Early = s.requests.Load(), s.handshakes.Load(), s.resumed.Load(), s.early.Load()
	for _, f := range []struct {
		to   *string
		from *atomic.Pointer[string]
	}{{&c.Proto, &s.proto}, {&c.ALPN, &s.alpn}, {&c.TLS, &s.tls}, {&c.QUIC, &s.quic}} {
		if text := f.from.Load(); text != nil {
			*f.to = *text
		}
	}
}
