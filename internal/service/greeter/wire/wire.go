// Package wire counts the bytes that cross a connection, and the connections.
//
// It counts the bytes that the program reads and writes: the payload of TCP and UDP. It does not
// count headers of TCP, UDP and IP, nor what the kernel retransmits.
package wire

import (
	"net"
	"sync"
	"sync/atomic"

	"github.com/quic-go/quic-go"
	"golang.org/x/net/ipv4"
)

// Count counts the bytes of some connections. Read it at any time.
type Count struct {
	In, Out atomic.Int64 // bytes
	Conns   atomic.Int64 // connections ever made
	open    sync.WaitGroup
}

// WaitClosed waits until every connection is closed.
func (c *Count) WaitClosed() { c.open.Wait() }

// Conn counts the bytes of a stream connection.
func (c *Count) Conn(conn net.Conn) net.Conn {
	c.Conns.Add(1)
	c.open.Add(1)
	return &stream{Conn: conn, count: c}
}

type stream struct {
	net.Conn
	count  *Count
	closed atomic.Bool
}

func (s *stream) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	s.count.In.Add(int64(n))
	return n, err
}

func (s *stream) Write(p []byte) (int, error) {
	// The answer may come before Write returns, so count first.
	s.count.Out.Add(int64(len(p)))
	n, err := s.Conn.Write(p)
	s.count.Out.Add(int64(n - len(p)))
	return n, err
}

func (s *stream) Close() error {
	err := s.Conn.Close()
	if s.closed.CompareAndSwap(false, true) {
		s.count.open.Done()
	}
	return err
}

// CloseWrite sends the end of the stream and leaves the other direction open.
func (s *stream) CloseWrite() error { return s.Conn.(*net.TCPConn).CloseWrite() }

// Listener counts the bytes of the connections that it accepts.
func (c *Count) Listener(l net.Listener) net.Listener { return &listener{l, c} }

type listener struct {
	net.Listener
	count *Count
}

func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.count.Conn(conn), nil
}

// Packets counts the bytes of a UDP socket. It keeps what quic-go uses: reading in batches,
// segmentation offload, ECN.
func (c *Count) Packets(conn *net.UDPConn) net.PacketConn {
	return &packets{datagrams: conn, batch: ipv4.NewPacketConn(conn), count: c}
}

// datagrams is what quic-go uses of a UDP socket.
type datagrams interface {
	quic.OOBCapablePacketConn
	SetWriteBuffer(bytes int) error
}

type packets struct {
	datagrams
	batch *ipv4.PacketConn
	count *Count
}

func (p *packets) ReadBatch(messages []ipv4.Message, flags int) (int, error) {
	n, err := p.batch.ReadBatch(messages, flags)
	var sum int64
	for i := range n {
		sum += int64(messages[i].N)
	}
	p.count.In.Add(sum)
	return n, err
}

func (p *packets) ReadFrom(b []byte) (int, net.Addr, error) {
	n, addr, err := p.datagrams.ReadFrom(b)
	p.count.In.Add(int64(n))
	return n, addr, err
}

func (p *packets) ReadMsgUDP(b, oob []byte) (n, oobn, flags int, addr *net.UDPAddr, err error) {
	n, oobn, flags, addr, err = p.datagrams.ReadMsgUDP(b, oob)
	p.count.In.Add(int64(n))
	return n, oobn, flags, addr, err
}

func (p *packets) WriteTo(b []byte, addr net.Addr) (int, error) {
	p.count.Out.Add(int64(len(b)))
	n, err := p.datagrams.WriteTo(b, addr)
	p.count.Out.Add(int64(n - len(b)))
	return n, err
}

func (p *packets) WriteMsgUDP(b, oob []byte, addr *net.UDPAddr) (n, oobn int, err error) {
	p.count.Out.Add(int64(len(b)))
	n, oobn, err = p.datagrams.WriteMsgUDP(b, oob, addr)
	p.count.Out.Add(int64(n - len(b)))
	return n, oobn, err
}
