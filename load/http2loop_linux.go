package load

import (
	"crypto/tls"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// An http2Lane is a line of a loop. It sends requests over one connection. There may be others that
// the server leaves and that still have requests. The line's mutex is locked as it is without a
// loop, but nothing waits for it.
type http2Lane struct {
	laneState
	loop *loop
	*http2
	dialing bool
	counted int // requests that the loop counts as under way
}

// openHTTP2Loops adds loops to the pool if they can serve the target.
func openHTTP2Loops(t *Target, p *Pool, line func() *http2) (ok bool, err error) {
	if t.portable {
		return false, nil
	}
	dial := t.dialUnder("h2", func(conn net.Conn) net.Conn { return &records{Conn: conn} })
	return true, openLoops(t, p, dial, func(l *loop) lane { return &http2Lane{loop: l, http2: line()} })
}

func (l *http2Lane) close()          { _ = l.Close() }
func (l *http2Lane) connected() bool { return l.conn != nil }

func (l *http2Lane) room() bool {
	if l.conn == nil {
		return !l.dialing
	}
	return l.active < l.conn.most()
}

// begin sends a request, over a new connection if there is none.
func (l *http2Lane) begin(due, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.work = l.loop.work
	if err := l.failedEarly; err != nil && l.conn == nil {
		l.failedEarly = nil
		l.work.done(l.requests[l.pick()].group, due, now, 0, err)
		return
	}
	r := repeat{due: due, request: l.pick()}
	if c := l.conn; c != nil {
		c.start(r, now)
		c.conn.(*http2Socket).wantsFlush()
	} else {
		l.again = append(l.again, r)
		l.connect()
	}
	l.count()
}

func (l *http2Lane) connect() {
	l.dialing = true
	l.loop.connect(l)
}

// count corrects the loop's number of requests under way.
func (l *http2Lane) count() {
	n := l.active + len(l.again)
	l.loop.active += n - l.counted
	l.counted = n
}

func (l *http2Lane) adopt(to link, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.loop.http2Socket()
	if err := s.open(to.fd); err != nil {
		l.loop.unused = append(l.loop.unused, s)
		return err
	}
	c := newHTTP2Conn(l.http2, s)
	s.lane, s.conn, s.secure, s.rest = l, c, nil, nil
	if to.secure != nil {
		s.secure = &secureSocket{to.secure, to.secure.NetConn().(*records)}
	}
	l.http2.conn, l.open[c] = c, true
	c.flush()
	s.decrypt(now) // what came with the end of the handshake
	l.settle(c, now)
	return nil
}

func (l *http2Lane) made(now time.Time, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dialing = false
	if err != nil {
		if r, ok := l.repeated(); ok {
			l.work.done(l.requests[r.request].group, r.due, now, 0, err)
		}
	}
	l.settle(l.conn, now)
}

// settle does what is to be done after something has happened on a connection.
func (l *http2Lane) settle(c *http2Conn, now time.Time) {
	if c != nil && l.open[c] && c.over() {
		s := c.conn.(*http2Socket)
		c.end(now)
		s.left, s.rest, s.conn, s.secure = nil, nil, nil, nil
		l.loop.unused = append(l.loop.unused, s)
	} else if c != nil && len(c.out) > 0 {
		c.conn.(*http2Socket).wantsFlush()
	}
	if l.conn == nil && len(l.again) > 0 && !l.dialing && l.loop.ctx.Err() == nil {
		l.connect()
	}
	for l.conn != nil && len(l.again) > 0 && l.active < l.conn.most() {
		r, _ := l.repeated()
		to := l.conn
		to.start(r, now)
		to.conn.(*http2Socket).wantsFlush()
	}
	l.count()
	if l.room() {
		l.loop.freeAgain(l, now)
	}
}

func (l *http2Lane) expire(now time.Time) (next time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		if at := now.Add(c.expire(now)); next.IsZero() || at.Before(next) {
			next = at
		}
		l.settle(c, now)
	}
	return next
}

func (l *http2Lane) giveUp(now time.Time, why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dialing = false
	for c := range l.open {
		if len(c.streams) > 0 {
			c.close()
		}
	}
	for _, r := range l.again {
		l.work.Done(r.due, now, 0, why)
	}
	l.again = nil
	for c := range l.open {
		l.settle(c, now)
	}
	l.settle(nil, now)
}

// An http2Socket is the socket of an http2Conn.
type http2Socket struct {
	socket
	lane    *http2Lane
	conn    *http2Conn
	secure  *secureSocket // nil without TLS
	left    []byte        // part of a frame that came
	rest    []byte        // what the connection did not accept yet
	flushes bool          // it is among the loop's unwritten
}

// http2Socket returns a closed socket.
func (l *loop) http2Socket() *http2Socket {
	if n := len(l.unused); n > 0 {
		s := l.unused[n-1]
		l.unused = l.unused[:n-1]
		return s
	}
	s := new(http2Socket)
	s.ready = s.handle
	l.add(&s.socket)
	return s
}

// wantsFlush has the loop write what is to be written, once it has handled everything else.
func (s *http2Socket) wantsFlush() {
	if !s.flushes {
		s.flushes = true
		s.loop.unwritten = append(s.loop.unwritten, s)
	}
}

// flush writes what is to be written.
func (s *http2Socket) flush(now time.Time) {
	s.flushes = false
	if s.conn == nil { // ended meanwhile
		return
	}
	s.lane.mu.Lock()
	defer s.lane.mu.Unlock()
	c := s.conn
	if c.flush(); c.failed != nil {
		s.lane.settle(c, now)
	}
}

// handle handles events, and returns the current time.
func (s *http2Socket) handle(events uint32, now time.Time) time.Time {
	l, c := s.lane, s.conn
	l.mu.Lock()
	defer l.mu.Unlock()
	if events&unix.EPOLLOUT != 0 && s.waits {
		if n, err := s.send(s.rest); err != nil {
			c.fail(err)
		} else if s.rest = s.rest[n:]; len(s.rest) == 0 {
			s.rest = nil
		}
	}
	if events&^unix.EPOLLOUT != 0 && c.failed == nil {
		now = s.read()
	}
	l.settle(c, now)
	return now
}

// read takes in what has come, and returns the current time.
func (s *http2Socket) read() (now time.Time) {
	in, have := s.loop.in, 0
	if s.secure == nil {
		have = copy(in, s.left)
	}
	n, err := s.receive(in[have:])
	now = time.Now()
	switch {
	case err != nil:
		s.conn.fail(err)
	case n > 0 && s.secure != nil:
		s.secure.records.in = in[:n]
		s.decrypt(now)
	case n > 0:
		s.feed(in[:have+n], now)
	}
	return now
}

// feed handles what has come, and keeps what is left of it.
func (s *http2Socket) feed(data []byte, now time.Time) {
	s.left = append(s.left[:0], s.conn.feed(data, now)...)
}

// Write writes what the connection accepts, and keeps the rest.
func (s *http2Socket) Write(data []byte) (int, error) {
	if s.secure != nil {
		if _, err := s.secure.Write(data); err != nil {
			return 0, err
		}
		return len(data), s.writeRecords()
	}
	return len(data), s.write(data)
}

func (s *http2Socket) write(data []byte) error {
	if len(s.rest) > 0 {
		s.rest = append(s.rest, data...)
		return nil
	}
	n, err := s.send(data)
	if n < len(data) {
		s.rest = append(s.rest, data[n:]...)
	}
	return err
}

// Close ends the connection.
func (s *http2Socket) Close() error {
	if s.secure != nil && s.fd >= 0 && len(s.rest) == 0 {
		_ = s.secure.CloseWrite()
		_ = s.writeRecords()
	}
	s.drop()
	return nil
}

// A secureSocket is TLS over records in memory.
type secureSocket struct {
	*tls.Conn
	records *records
}

// writeRecords writes the records that TLS made.
func (s *http2Socket) writeRecords() error {
	r := s.secure.records
	err := s.write(r.out)
	if r.out = r.out[:0]; cap(r.out) > 32<<10 {
		r.out = nil
	}
	return err
}

// decrypt takes in what is in the records that came.
func (s *http2Socket) decrypt(now time.Time) {
	if s.secure == nil {
		return
	}
	if s.loop.plain == nil {
		s.loop.plain = make([]byte, 64<<10)
	}
	plain := s.loop.plain
	have := copy(plain, s.left)
	var err error
	for err == nil && s.conn.failed == nil {
		var n int
		n, err = s.secure.Read(plain[have:])
		if have += n; err != nil || len(plain)-have < frameMost {
			s.feed(plain[:have], now)
			have = copy(plain, s.left)
		}
	}
	if err == nil || err == errNoRecord {
		err = s.writeRecords() // TLS may have answered
	}
	if err != nil {
		s.conn.fail(err)
	}
}

// records is the connection under TLS. Once the loop has it, records come from and go to memory.
type records struct {
	net.Conn // until then
	in, out  []byte
}

// release returns the connection, and uses memory from now on.
func (r *records) release() (conn net.Conn) {
	conn, r.Conn = r.Conn, nil
	return conn
}

func (r *records) Read(p []byte) (n int, err error) {
	if r.Conn != nil {
		return r.Conn.Read(p)
	}
	if len(r.in) == 0 {
		return 0, errNoRecord
	}
	n = copy(p, r.in)
	r.in = r.in[n:]
	return n, nil
}

func (r *records) Write(p []byte) (n int, err error) {
	if r.Conn != nil {
		return r.Conn.Write(p)
	}
	r.out = append(r.out, p...)
	return len(p), nil
}

func (r *records) SetWriteDeadline(t time.Time) error {
	if r.Conn != nil {
		return r.Conn.SetWriteDeadline(t)
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
