package pgbulk

import (
	"net"
	"os"
	"syscall"
	"unsafe"
)

// vector calls writev(2) itself: net.Buffers does not report when a write has to wait.
type vector struct {
	nc      net.Conn // that raw is of
	raw     syscall.RawConn
	entries []syscall.Iovec
	waits   func() // called each time that the socket has no room
	err     error
	try     func(fd uintptr) bool
}

// write writes parts, of which there are at most maxEntries and none is empty. waits is called each
// time that it has to wait.
func (v *vector) write(nc net.Conn, parts [][]byte, waits func()) error {
	if v.nc != nc {
		raw, err := nc.(syscall.Conn).SyscallConn()
		if err != nil {
			return err
		}
		v.nc, v.raw = nc, raw
	}
	v.entries = v.entries[:0]
	for _, p := range parts {
		e := syscall.Iovec{Base: &p[0]}
		e.SetLen(len(p))
		v.entries = append(v.entries, e)
	}
	if v.try == nil {
		v.try = v.writev
	}
	all := v.entries
	v.waits, v.err = waits, nil
	err := v.raw.Write(v.try)
	if err == nil {
		err = v.err
	}
	clear(all)
	v.entries, v.waits = all[:0], nil
	return err
}

// writev reports whether it is done, as syscall.RawConn's Write wants it.
func (v *vector) writev(fd uintptr) bool {
	for len(v.entries) > 0 {
		n, _, errno := syscall.Syscall(syscall.SYS_WRITEV, fd, uintptr(unsafe.Pointer(&v.entries[0])), uintptr(len(v.entries)))
		switch errno {
		case 0:
			v.consume(int(n))
		case syscall.EINTR:
		case syscall.EAGAIN:
			v.waits()
			return false
		default:
			v.err = os.NewSyscallError("writev", errno)
			return true
		}
	}
	return true
}

func (v *vector) consume(n int) {
	for len(v.entries) > 0 {
		e := &v.entries[0]
		if size := int(e.Len); n < size {
			e.Base = (*byte)(unsafe.Add(unsafe.Pointer(e.Base), n))
			e.SetLen(size - n)
			return
		}
		n -= int(e.Len)
		v.entries = v.entries[1:]
	}
}

// enlarge gives a Unix socket a send buffer of size bytes, if the kernel allows that
// (net.core.wmem_max) and the buffer is smaller. The default is 208 KB, and a writer that sleeps
// less often uses less CPU time. TCP finds its size by itself.
func enlarge(nc net.Conn, size int) {
	c, ok := nc.(*net.UnixConn)
	if !ok {
		return
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	var now int
	if raw.Control(func(fd uintptr) { now, err = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF) }) != nil || err != nil {
		return
	}
	if now < size {
		_ = c.SetWriteBuffer(size / 2) // the kernel doubles it; it works without, too
	}
}
