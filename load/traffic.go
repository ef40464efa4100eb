package load

import (
	"net"
	"sync/atomic"
	"time"
)

// Traffic counts TCP connections and UNIX sockets, and their octets.
type Traffic struct {
	Tried          int64         // connections that were begun
	Connections    int64         // those that were made
	Connecting     time.Duration // the sum of how long that took, with name lookups, without TLS
	Sent, Received int64         // octets, with TLS's own
}

type meter struct {
	tried, connections, connecting, sent, received atomic.Int64
}

// Traffic returns what has gone over the pool's connections since it was opened.
func (p *Pool) Traffic() Traffic {
	m := p.meter
	return Traffic{m.tried.Load(), m.connections.Load(), time.Duration(m.connecting.Load()), m.sent.Load(), m.received.Load()}
}

// add adds other traffic, times times.
func (t *Traffic) add(other Traffic, times int64) {
	t.Tried += times * other.Tried
	t.Connections += times * other.Connections
	t.Connecting += time.Duration(times) * other.Connecting
	t.Sent += times * other.Sent
	t.Received += times * other.Received
}

// metered is a connection whose octets are counted.
type metered struct {
	net.Conn
	meter *meter
}

func (c metered) Read(p []byte) (n int, err error) {
	n, err = c.Conn.Read(p)
	c.meter.received.Add(int64(n))
	return n, err
}

func (c metered) Write(p []byte) (n int, err error) {
	n, err = c.Conn.Write(p)
	c.meter.sent.Add(int64(n))
	return n, err
}
