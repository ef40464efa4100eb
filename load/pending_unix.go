//go:build unix

package load

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// pending reports, without waiting, whether a connection has something to read or has ended.
func pending(conn syscall.Conn) (data, end bool) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return false, true
	}
	var one [1]byte
	err = raw.Control(func(fd uintptr) {
		n, _, err := unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		data = n > 0
		end = n == 0 && err == nil || err != nil && err != unix.EAGAIN && err != unix.EINTR
	})
	return data, end || err != nil
}
