package link

import (
	"cmp"
	"context"
	"net"
	"os/exec"
	"syscall"
)

// any is an address of the end, with any free port.
func (e *End) any() string {
	if e == nil {
		return "127.0.0.1:0"
	}
	return e.IP + ":0"
}

// Listen listens for TCP connections; at "" on any free port.
func (e *End) Listen(addr string) (l net.Listener, err error) {
	err = e.inside(func() error {
		config := net.ListenConfig{Control: e.control()}
		l, err = config.Listen(context.Background(), "tcp", cmp.Or(addr, e.any()))
		return err
	})
	return l, err
}

// Dial makes a TCP connection.
func (e *End) Dial(ctx context.Context, addr string) (conn net.Conn, err error) {
	err = e.inside(func() error {
		d := net.Dialer{Control: e.control()}
		conn, err = d.DialContext(ctx, "tcp", addr)
		return err
	})
	return conn, err
}

// ListenUDP makes a UDP socket; for "" at any free port.
func (e *End) ListenUDP(addr string) (conn *net.UDPConn, err error) {
	to, err := net.ResolveUDPAddr("udp", cmp.Or(addr, e.any()))
	if err != nil {
		return nil, err
	}
	err = e.inside(func() error {
		conn, err = net.ListenUDP("udp", to)
		return err
	})
	return conn, err
}

// Start starts a program there.
func (e *End) Start(cmd *exec.Cmd) error { return e.inside(cmd.Start) }

// control sets what TCP sockets of the end have.
func (e *End) control() func(network, address string, c syscall.RawConn) error {
	if e == nil {
		return nil
	}
	return func(_, _ string, c syscall.RawConn) error {
		var err error
		if bad := c.Control(func(fd uintptr) { err = setCongestion(int(fd), e.Congestion) }); bad != nil {
			return bad
		}
		return err
	}
}
