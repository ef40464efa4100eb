package pgbulk

import (
	"net"
	"unsafe"
)

const (
	// minReferred is the size in bytes from which a value is referred to instead of copied. For a
	// smaller one, an entry in the vector costs more than the copy.
	minReferred = 2 << 10
	// minSent is that size in a chunk that is sent at once: 65,535 smaller parameters fit into a
	// buffer that is kept.
	minSent = 64
	// maxHeld is how many bytes are referred to before they are written, and so how long a CopyData
	// message is.
	maxHeld = 1 << 20
	// maxEntries is how many entries a vector has: the kernel takes at most 1024 at once
	// (UIO_MAXIOV).
	maxEntries = 1024
)

// outbox holds what goes out in one vectored write (writev): parts of the buffer, and between them
// values that stay where they are. Plain TCP and Unix sockets can do that. TLS copies anyway, so it
// uses the buffer alone.
type outbox struct {
	vectored bool
	parts    [][]byte
	held     int         // bytes of the values referred to
	mark     int         // where the part of the buffer that is not in parts begins
	rest     net.Buffers // while parts are written
}

// write writes the parts.
func (o *outbox) write(nc net.Conn) error {
	o.rest = o.parts
	_, err := o.rest.WriteTo(nc)
	o.rest = nil
	return err
}

func (o *outbox) start(nc net.Conn) {
	_, tcp := nc.(*net.TCPConn)
	_, unix := nc.(*net.UnixConn)
	o.vectored = tcp || unix
	o.empty()
}

func (o *outbox) add(p []byte) {
	if len(p) > 0 {
		o.parts = append(o.parts, p)
	}
}

// refer adds bytes that are only read. They must not change until they are written.
func (o *outbox) refer(p string) {
	o.parts = append(o.parts, unsafe.Slice(unsafe.StringData(p), len(p)))
	o.held += len(p)
}

func (o *outbox) full() bool { return o.held >= maxHeld || len(o.parts) >= maxEntries-2 }

// empty drops the parts, so that they can be garbage collected.
func (o *outbox) empty() {
	clear(o.parts)
	o.parts, o.held, o.mark = o.parts[:0], 0, 0
}
