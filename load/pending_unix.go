//go:build unix

package load

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// pending reports, without waiting, whether a connection has something to read or has ended.
func pending(conn net.Conn) (yes bool) {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	var one [1]byte
	_ = raw.Control(func(fd uintptr) {
		_, _, err := unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		yes = err != unix.EAGAIN && err != unix.EINTR
	})
	return yes
}
