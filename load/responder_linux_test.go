package load

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"

	h2 "golang.org/x/net/http2"
)

// A responder answers every request with the same bytes. It is one thread that waits for many
// connections at a time and only looks for the end of each request, so that it spends less on a
// request than any client.
type responder struct {
	epoll    int
	answered atomic.Int64
	conns    map[int32]*responderConn
	stop     atomic.Bool
	stopped  chan struct{}
	listens  map[int32]responderProtocol
}

type responderProtocol int

const (
	respondsHTTP1 responderProtocol = iota
	respondsHTTP2
	respondsGRPC
)

type responderConn struct {
	protocol responderProtocol
	in       []byte // octets that have come and are not yet a whole request
	out      []byte
	begun    bool // the preface of HTTP/2 has come
}

const responseBody = `{"secure":"raw"}`

var response1 = fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(responseBody), responseBody)

// startResponder listens on one port for each protocol, and returns the addresses in that order.
func startResponder(t *testing.T) (*responder, []string) {
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	epoll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	must(err)
	r := &responder{epoll: epoll, conns: map[int32]*responderConn{}, listens: map[int32]responderProtocol{}, stopped: make(chan struct{})}
	var addrs []string
	for p := respondsHTTP1; p <= respondsGRPC; p++ {
		fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
		must(err)
		must(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
		must(syscall.Listen(fd, 4096))
		name, err := syscall.Getsockname(fd)
		must(err)
		r.listens[int32(fd)] = p
		addrs = append(addrs, fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port))
		must(r.watch(fd))
	}
	go r.loop()
	t.Cleanup(r.close)
	return r, addrs
}

func (r *responder) watch(fd int) error {
	event := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fd)}
	return syscall.EpollCtl(r.epoll, syscall.EPOLL_CTL_ADD, fd, &event)
}

func (r *responder) close() {
	r.stop.Store(true)
	<-r.stopped
	_ = syscall.Close(r.epoll)
	for fd := range r.listens {
		_ = syscall.Close(int(fd))
	}
	for fd := range r.conns {
		_ = syscall.Close(int(fd))
	}
}

func (r *responder) loop() {
	runtime.LockOSThread()
	defer close(r.stopped)
	events := make([]syscall.EpollEvent, 256)
	buf := make([]byte, 64<<10)
	for !r.stop.Load() {
		n, err := syscall.EpollWait(r.epoll, events, 100)
		if err != nil && err != syscall.EINTR {
			return
		}
		for _, event := range events[:max(n, 0)] {
			if p, ok := r.listens[event.Fd]; ok {
				r.accept(int(event.Fd), p)
			} else {
				r.serve(event.Fd, buf)
			}
		}
	}
}

func (r *responder) accept(fd int, p responderProtocol) {
	conn, _, err := syscall.Accept4(fd, syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC)
	if err != nil {
		return
	}
	_ = syscall.SetsockoptInt(conn, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)
	r.conns[int32(conn)] = &responderConn{protocol: p}
	if r.watch(conn) != nil {
		r.drop(int32(conn))
	}
}

func (r *responder) drop(fd int32) {
	delete(r.conns, fd)
	_ = syscall.Close(int(fd))
}

func (r *responder) serve(fd int32, buf []byte) {
	c := r.conns[fd]
	n, err := syscall.Read(int(fd), buf)
	if err == syscall.EAGAIN || err == syscall.EINTR {
		return
	}
	if n <= 0 {
		r.drop(fd)
		return
	}
	data := buf[:n]
	if len(c.in) > 0 {
		c.in = append(c.in, data...)
		data = c.in
	}
	c.out = c.out[:0]
	var requests int
	var left []byte
	if c.protocol == respondsHTTP1 {
		requests, left = c.http1(data)
	} else {
		requests, left = c.http2(data)
	}
	c.in = append(c.in[:0], left...)
	r.answered.Add(int64(requests))
	for out := c.out; len(out) > 0; {
		n, err := syscall.Write(int(fd), out)
		if err != nil && err != syscall.EAGAIN && err != syscall.EINTR {
			r.drop(fd)
			return
		}
		out = out[max(n, 0):] // a client that does not read would block everything, but none of these does
	}
}

// http1 answers requests. They have no body.
func (c *responderConn) http1(data []byte) (requests int, left []byte) {
	for {
		end := bytes.Index(data, []byte("\r\n\r\n"))
		if end < 0 {
			return requests, data
		}
		data = data[end+4:]
		c.out = append(c.out, response1...)
		requests++
	}
}

// grpcHeader is the header of a gRPC answer: status 200 and the content type, neither of which
// changes the table. grpcTrailer is its trailer.
var (
	grpcHeader  = "\x88\x0f\x10\x10application/grpc"
	grpcTrailer = "\x00\x0bgrpc-status\x010"
)

// http2 answers each request when it ends, without reading its content.
func (c *responderConn) http2(data []byte) (requests int, left []byte) {
	if !c.begun {
		if len(data) < len(h2.ClientPreface) {
			return 0, data
		}
		data = data[len(h2.ClientPreface):]
		c.begun = true
		c.frame(h2.FrameSettings, 0, 0, "\x00\x03\x00\x00\x04\x00") // 1024 streams at a time
	}
	taken := 0
	for len(data) >= 9 {
		length := int(data[0])<<16 | int(data[1])<<8 | int(data[2])
		if len(data) < 9+length {
			break
		}
		kind, flags, id := h2.FrameType(data[3]), h2.Flags(data[4]), binary.BigEndian.Uint32(data[5:])
		payload := data[9 : 9+length]
		data = data[9+length:]
		switch {
		case kind == h2.FrameSettings && !flags.Has(h2.FlagSettingsAck):
			c.frame(h2.FrameSettings, h2.FlagSettingsAck, 0, "")
		case kind == h2.FramePing && !flags.Has(h2.FlagPingAck):
			c.frame(h2.FramePing, h2.FlagPingAck, 0, string(payload))
		case kind == h2.FrameData:
			taken += length
		}
		if (kind == h2.FrameData || kind == h2.FrameHeaders) && flags.Has(h2.FlagDataEndStream) {
			requests++
			if c.protocol == respondsGRPC {
				c.frame(h2.FrameHeaders, h2.FlagHeadersEndHeaders, id, grpcHeader)
				c.frame(h2.FrameData, 0, id, "\x00\x00\x00\x00\x00") // an empty message
				c.frame(h2.FrameHeaders, h2.FlagHeadersEndHeaders|h2.FlagHeadersEndStream, id, grpcTrailer)
			} else {
				c.frame(h2.FrameHeaders, h2.FlagHeadersEndHeaders, id, "\x88")
				c.frame(h2.FrameData, h2.FlagDataEndStream, id, responseBody)
			}
		}
	}
	if taken > 0 {
		c.frame(h2.FrameWindowUpdate, 0, 0, string(binary.BigEndian.AppendUint32(nil, uint32(taken))))
	}
	return requests, data
}

func (c *responderConn) frame(kind h2.FrameType, flags h2.Flags, id uint32, payload string) {
	n := len(payload)
	c.out = append(c.out, byte(n>>16), byte(n>>8), byte(n), byte(kind), byte(flags))
	c.out = binary.BigEndian.AppendUint32(c.out, id)
	c.out = append(c.out, payload...)
}
