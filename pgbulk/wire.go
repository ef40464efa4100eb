package pgbulk

import (
	"encoding/binary"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// bufferSize is the size of the one buffer that all but large values is written through, in bytes.
const bufferSize = 64 << 10

// wire writes messages, straight to the net.Conn below pgconn.
type wire struct {
	pc  *pgconn.PgConn
	nc  net.Conn
	err error

	buf     []byte // bufferSize long
	n       int    // bytes of buf in use
	out     *outbox
	copying bool // what is written is wrapped in CopyData messages

	written int // bytes

	stop atomic.Bool // there was an error: nothing that is written now will be of use

	reading reading
}

// reading begins to read the server's messages while an exchange is still being written.
type reading struct {
	read  func()
	since time.Time   // when the exchange began
	begun bool        // not by the timer
	timer *time.Timer // nil as long as no write had to wait
}

// readAfter is how long an exchange runs before the server's messages are read while it is still
// being written.
const readAfter = 50 * time.Millisecond

// neverWaits is how many bytes of an exchange the sockets' buffers take, whatever the server does. A
// timer for them would cost a small call a tenth of its time.
const neverWaits = 16 << 10

// soon starts reading the server's messages if the current write waits for long.
func (r *reading) soon() {
	if r.timer == nil {
		r.timer = time.AfterFunc(readAfter, r.read)
	} else {
		r.timer.Reset(readAfter)
	}
}

// flush writes out the buffer, and what is referred to between its bytes.
func (w *wire) flush() {
	from := 0
	if w.copying {
		from = copyHeader
	}
	if w.n > from || w.out.held > 0 {
		if w.copying {
			w.buf[0] = 'd'
			binary.BigEndian.PutUint32(w.buf[1:], uint32(w.n-1+w.out.held))
		}
		// Between two CopyData messages is a place to stop. Nothing in the buffer is needed then.
		if !w.copying || !w.stop.Load() {
			w.write()
		}
	}
	w.drop(from)
}

// copyHeader is what a CopyData message begins with, and is kept free at the front of the buffer:
// its type and length.
const copyHeader = 5

// drop empties the buffer, all but its first from bytes.
func (w *wire) drop(from int) {
	w.n = from
	w.out.empty()
}

// write writes what flush has made ready.
func (w *wire) write() {
	if w.err != nil {
		return
	}
	if !w.reading.begun && time.Since(w.reading.since) > readAfter {
		w.reading.begun = true
		go w.reading.read()
	}
	if w.written += w.n + w.out.held; w.written > neverWaits {
		w.reading.soon()
	}
	if w.out.held > 0 {
		w.enlarge()
		w.out.add(w.buf[w.out.mark:w.n])
		w.err = w.out.write(w.nc)
	} else {
		_, w.err = w.nc.Write(w.buf[:w.n])
	}
	if w.reading.timer != nil {
		w.reading.timer.Stop()
	}
	if w.err != nil {
		w.stop.Store(true)
		// The server may have said why before it closed the connection: leave a moment to read
		// that.
		w.nc.SetReadDeadline(time.Now().Add(CancelGrace))
	}
}

// enlarge gives a Unix socket a send buffer of what is held twice over, as Linux counts it, once, as
// far as the kernel allows (net.core.wmem_max). The default is 208 KB, and a writer that sleeps less
// often uses less CPU time. TCP finds its size by itself.
func (w *wire) enlarge() {
	if known := w.pc.CustomData()[connectionKey].(*connection); !known.enlarged {
		known.enlarged = true
		if c, ok := w.nc.(*net.UnixConn); ok {
			_ = c.SetWriteBuffer(maxHeld) // it works without, too
		}
	}
}

// room makes sure that there are k bytes free in the buffer and returns them. k is small.
func (w *wire) room(k int) []byte {
	w.reserve(k)
	p := w.buf[w.n : w.n+k]
	w.n += k
	return p
}

// reserve has the next k bytes go out together.
func (w *wire) reserve(k int) {
	if len(w.buf)-w.n < k {
		w.flush()
	}
}

func (w *wire) byte(b byte)    { w.room(1)[0] = b }
func (w *wire) int16(v int)    { binary.BigEndian.PutUint16(w.room(2), uint16(v)) }
func (w *wire) int32(v int)    { binary.BigEndian.PutUint32(w.room(4), uint32(v)) }
func (w *wire) bytes(p []byte) { w.string(alias(p)) }

// string copies p to the buffer, as often as it fills up.
func (w *wire) string(p string) {
	for {
		k := copy(w.buf[w.n:], p)
		w.n += k
		if p = p[k:]; p == "" {
			return
		}
		w.flush()
	}
}

// refer is string for a value that does not change before the next flush. A large one is not
// copied.
func (w *wire) refer(p string) {
	if len(p) < minReferred || !w.out.vectored {
		w.string(p)
		return
	}
	for p != "" {
		k := min(len(p), maxHeld-w.out.held)
		w.out.add(w.buf[w.out.mark:w.n])
		w.out.mark = w.n
		w.out.refer(p[:k])
		p = p[k:]
		if w.out.full() {
			w.flush()
		}
	}
}

// message sends a message whose body is a string, as the protocol has it in names and statements:
// with a zero byte at its end, and none in it.
func (w *wire) message(kind byte, body string) {
	w.byte(kind)
	w.int32(4 + len(body) + 1)
	w.string(body)
	w.byte(0)
}

// parse sends a Parse message for a statement with n parameters, whose types recur. Without types
// the server finds them out. Without a name the statement lasts until the next Parse.
func (w *wire) parse(name, sql string, types []uint32, n int) {
	w.byte('P')
	w.int32(4 + len(name) + 1 + len(sql) + 1 + 2 + 4*n)
	w.string(name)
	w.byte(0)
	w.string(sql)
	w.byte(0)
	w.int16(n)
	for i := range n {
		w.int32(int(types[i%len(types)]))
	}
}

// bind sends the beginning of a statement's Bind message, up to its n parameters, which have size
// bytes. formats are the format codes, which recur; if they are all the
// same the message says it once.
func (w *wire) bind(name string, formats []byte, n, size int) {
	same := !slices.ContainsFunc(formats, func(f byte) bool { return f != formats[0] })
	codes := n
	switch {
	case same && (n == 0 || formats[0] == 0):
		codes = 0 // no code at all: all text
	case same:
		codes = 1
	}
	w.byte('B')
	w.int32(bindOverhead + len(name) + 2*codes + size)
	w.byte(0)
	w.string(name)
	w.byte(0)
	w.int16(codes)
	for i := range codes {
		w.int16(int(formats[i%len(formats)]))
	}
	w.int16(n)
}

// bindOverhead is what a Bind message has beside its name, formats and parameters: its length, two
// zero bytes, and the numbers of formats, of parameters and of result formats.
const bindOverhead = 4 + 2 + 2 + 2 + 2

// execute ends the Bind message, whose results are to be in text if there are any, and sends an
// Execute message.
func (w *wire) execute() {
	w.int16(0)
	w.executeMessage()
}

func (w *wire) executeMessage() { copy(w.room(10), "E\x00\x00\x00\x09\x00\x00\x00\x00\x00") }

// command sends a statement without parameters.
func (w *wire) command(sql string) {
	w.parse("", sql, nil, 0)
	w.bind("", nil, 0, 0)
	w.execute()
}

// startCopy begins COPY data: from here on everything is wrapped in CopyData messages.
func (w *wire) startCopy() {
	w.flush()
	w.copying, w.n, w.out.mark = true, copyHeader, 0
	w.string("PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00")
}

// failCopy has the server undo the copy. A server that is no longer copying ignores the message.
func (w *wire) failCopy() {
	w.copying = false
	w.drop(0)
	w.message('f', givenUp)
	w.flush()
}

const givenUp = "given up by the client"
