package load

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"time"
)

// pollMost is how many events a poll returns at most. There may be more then.
const pollMost = 64

// An event says what a socket can do; its number is -1 if wake was called.
type event struct {
	number, opened     int32
	readable, writable bool
}

// A socket is a connection of a loop, with TLS or without. TLS reads and writes its records in
// memory; the socket reads them from the wire and writes them there.
type socket struct {
	loop   *loop
	number int   // its index in the loop's sockets
	opened int32 // counts its connections, to tell their events apart
	user   user
	wire   *wire // nil if there is no connection
	waits  bool  // for the wire to become writable
	secure *tls.Conn
	came   []byte // records that TLS has not read
	left   []byte // what the user can use only once more has come
	queue  []byte // what TLS has yet to encrypt
	rest   []byte // what the wire has yet to accept
	// written counts what the wire has accepted of what was written last.
	written int
}

// A user speaks a protocol over a socket.
type user interface {
	// take takes in what came, and returns what it cannot use yet.
	take(data []byte, now time.Time) (left []byte, err error)
	// settle is called after events were handled. An error says that the connection has failed.
	settle(now time.Time, err error)
}

// A writeError says that the connection accepts no more. Something may still come.
type writeError struct{ error }

func (e writeError) Unwrap() error { return e.error }

// errCut is the end of a connection on which TLS has not ended.
var errCut = fmt.Errorf("TLS was cut: %w", io.EOF)

func (s *socket) open(conn net.Conn) error {
	s.opened++
	s.secure, s.waits, s.came, s.left, s.queue, s.rest = nil, false, nil, nil, nil, nil
	if secure, ok := conn.(*tls.Conn); ok {
		under := secure.NetConn().(*records)
		conn = under.Conn
		under.Conn, under.socket = nil, s
		s.secure = secure
	}
	if counted, ok := conn.(metered); ok {
		conn = counted.Conn // the socket counts itself
	}
	var err error
	s.wire, err = s.loop.poller.adopt(conn, s)
	return err
}

func (s *socket) drop() {
	if s.wire == nil {
		return
	}
	if s.secure != nil && s.drained() {
		_ = s.secure.CloseWrite()
		_ = s.pump()
	}
	s.wire.close()
	s.wire = nil
}

func (s *socket) handle(e event, now time.Time) time.Time {
	var err error
	if e.writable && s.waits {
		err = s.pump()
	}
	if e.readable && err == nil {
		now, err = s.receive()
	}
	s.user.settle(now, err)
	return now
}

// write sends data, which must stay as it is until the socket is drained.
func (s *socket) write(data []byte) error {
	s.written = 0
	if s.secure == nil {
		s.rest = data
	} else {
		s.queue = data
	}
	return s.pump()
}

// drained reports whether everything was sent that was written.
func (s *socket) drained() bool { return len(s.queue) == 0 && len(s.rest) == 0 }

// encryptAtOnce is how many octets are encrypted before the wire has to accept them.
const encryptAtOnce = 64 << 10

// pump sends what the connection accepts. There is an event when it accepts more.
func (s *socket) pump() error {
	for {
		n, err, whole := 0, error(nil), s.rest
		if len(s.rest) > 0 {
			n, err = s.wire.write(s.rest)
		}
		s.written += n
		s.loop.meter.sent.Add(int64(n))
		if s.rest = s.rest[n:]; err != nil {
			return writeError{err}
		}
		if len(s.rest) > 0 {
			return s.await(true)
		}
		if s.rest = whole[:0]; s.secure == nil || cap(whole) > encryptAtOnce {
			s.rest = nil // without TLS it was the user's
		}
		if len(s.queue) == 0 {
			return s.await(false)
		}
		piece := s.queue[:min(len(s.queue), encryptAtOnce)]
		if _, err := s.secure.Write(piece); err != nil {
			return err
		}
		s.queue = s.queue[len(piece):]
	}
}

// await has the loop wait, or not, for the connection to become writable.
func (s *socket) await(writable bool) error {
	if s.waits == writable {
		return nil
	}
	s.waits = writable
	return s.wire.await(writable)
}

// receive has the user take what has come, and returns the current time.
func (s *socket) receive() (now time.Time, err error) {
	in, have := s.loop.buffers.in, 0
	if s.secure == nil {
		have = copy(in, s.left)
	}
	n, err := s.wire.read(in[have:])
	s.loop.meter.received.Add(int64(n))
	now = time.Now()
	switch {
	case err == io.EOF && s.secure != nil:
		err = errCut
	case err != nil || n == 0:
	case s.secure != nil:
		s.came = in[:n]
		err = s.decrypt(now)
	default:
		err = s.give(in[:have+n], now)
	}
	return now, err
}

// give gives the user what has come, and keeps what it leaves.
func (s *socket) give(data []byte, now time.Time) error {
	left, err := s.user.take(data, now)
	s.left = append(s.left[:0], left...)
	return err
}

// decrypt has the user take the content of the records that came.
func (s *socket) decrypt(now time.Time) (err error) {
	if s.loop.buffers.plain == nil {
		s.loop.buffers.plain = make([]byte, 64<<10)
	}
	plain := s.loop.buffers.plain
	have := copy(plain, s.left)
	for err == nil && s.wire != nil {
		var n int
		n, err = s.secure.Read(plain[have:])
		if have += n; have > len(s.left) && (err != nil || len(plain)-have < frameMost) {
			if wrong := s.give(plain[:have], now); wrong != nil {
				return wrong
			}
			have = copy(plain, s.left)
		}
	}
	if (err == nil || err == errNoRecord) && s.wire != nil {
		return s.pump() // TLS may have answered
	}
	return err
}

// records is the connection under TLS. Once a socket has it, it reads and writes memory.
type records struct {
	net.Conn // until then
	socket   *socket
}

func (r *records) Read(p []byte) (n int, err error) {
	if r.Conn != nil {
		return r.Conn.Read(p)
	}
	if len(r.socket.came) == 0 {
		return 0, errNoRecord
	}
	n = copy(p, r.socket.came)
	r.socket.came = r.socket.came[n:]
	return n, nil
}

func (r *records) Write(p []byte) (n int, err error) {
	if r.Conn != nil {
		return r.Conn.Write(p)
	}
	r.socket.rest = append(r.socket.rest, p...)
	return len(p), nil
}

func (r *records) SetWriteDeadline(t time.Time) error {
	if r.Conn != nil {
		return r.Conn.SetWriteDeadline(t)
	}
	return nil
}

func (r *records) Close() error {
	if r.Conn != nil {
		return r.Conn.Close()
	}
	return nil
}

// errNoRecord means that the next record has not come yet. It is temporary; to TLS any other error
// is final.
var errNoRecord net.Error = noRecord{}

type noRecord struct{}

func (noRecord) Error() string   { return "the next record has not come yet" }
func (noRecord) Timeout() bool   { return true }
func (noRecord) Temporary() bool { return true }
