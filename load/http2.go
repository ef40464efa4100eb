package load

import (
	"context"
	"net"
	"strconv"
	"time"

	"golang.org/x/net/http2/hpack"
)

// http2Requests are what the lanes of a target send.
type http2Requests struct {
	all  []http2Request
	pick func() int // chooses the next of them
	// verdict returns an answer's status, and why it is not a success.
	verdict func(s *stream) (status int, err error)
	room    int   // streams at a time
	late    error // of a request that takes too long
}

type http2Request struct {
	fields []hpack.HeaderField
	body   []byte
}

// An attempt is a request that is sent, perhaps not for the first time.
type attempt struct {
	timing  timing
	request int // its index among the requests
	refused int // how often the server refused its stream
}

// mostRefused is how often a request is sent again because its stream was refused.
const mostRefused = 3

// An http2Lane sends requests over one connection. Others that the server leaves may still have
// requests. All frames of a read are handled, and requests take the place of answered ones, before
// anything is written: one system call then carries many answers or requests.
type http2Lane struct {
	laneState
	loop     *loop
	requests *http2Requests
	conn     *http2Conn // for new requests, nil if there is none
	open     map[*http2Conn]bool
	unused   []*socket // closed, for reuse
	idle     []*stream // ended, for reuse
	dialing  bool
	active   int // requests under way
	// failedEarly is why the last connection ended, if that was at once and before a request. The
	// next request fails with it. Otherwise connections would be made without end.
	failedEarly error
	// unsent are requests that have no connection yet, or that the server did not process.
	unsent []attempt
}

func newHTTP2Lane(l *loop, requests *http2Requests) *http2Lane {
	return &http2Lane{loop: l, requests: requests, open: map[*http2Conn]bool{}}
}

func openHTTP2(_ context.Context, t *Target, p *Pool) error {
	var all []http2Request
	for i := range t.Requests {
		r := &t.Requests[i]
		fields := fields(r.Method, r.URL.Scheme, r.host(), r.URL.RequestURI(), r.fields()...)
		if len(r.Body) > 0 {
			fields = append(fields, hpack.HeaderField{Name: "content-length", Value: strconv.Itoa(len(r.Body))})
		}
		all = append(all, http2Request{fields, r.Body})
	}
	return p.addHTTP2(t, all, t.succeeded)
}

// addHTTP2 adds HTTP/2 connections.
func (p *Pool) addHTTP2(t *Target, all []http2Request, verdict func(*stream) (int, error)) error {
	numbers := make([]int, len(all))
	for i := range numbers {
		numbers[i] = i
	}
	requests := &http2Requests{all, inTurn(numbers), verdict, t.Streams, t.late("answer")}
	return openLoops(t, p, t.dial("h2"), func(l *loop) lane { return newHTTP2Lane(l, requests) })
}

func (l *http2Lane) connected() bool { return l.conn != nil }

func (l *http2Lane) working() bool { return l.active+len(l.unsent) > 0 }

func (l *http2Lane) close() {
	for c := range l.open {
		c.fail(net.ErrClosed)
	}
}

func (l *http2Lane) room() bool {
	if l.conn == nil {
		return !l.dialing
	}
	return l.active < l.conn.most()
}

// begin sends a request, over a new connection if there is none.
func (l *http2Lane) begin(t timing) {
	now := t.sent
	a := attempt{timing: t, request: l.requests.pick()}
	if err := l.failedEarly; err != nil && l.conn == nil {
		l.failedEarly = nil
		l.loop.done(a.timing, now, 0, err)
		return
	}
	if c := l.conn; c != nil {
		c.start(a, now)
		c.queueFlush()
	} else {
		l.unsent = append(l.unsent, a)
		l.connect()
	}
}

// newStream returns one that was used before, if there is any.
func (l *http2Lane) newStream() *stream {
	n := len(l.idle)
	if n == 0 {
		return new(stream)
	}
	s := l.idle[n-1]
	l.idle = l.idle[:n-1]
	*s = stream{prefix: s.prefix[:0]}
	return s
}

func (l *http2Lane) connect() {
	l.dialing = true
	l.loop.connect(l)
}

func (l *http2Lane) adopt(conn net.Conn, now time.Time) error {
	var s *socket
	if n := len(l.unused); n > 0 {
		s, l.unused = l.unused[n-1], l.unused[:n-1]
	} else {
		s = l.loop.socket(nil)
	}
	if err := s.open(conn); err != nil {
		l.unused = append(l.unused, s)
		return err
	}
	c := newHTTP2Conn(l, s)
	s.user = c
	l.conn, l.open[c] = c, true
	c.flush()
	var err error
	if s.secure != nil {
		err = s.decrypt(now) // what came with the end of the handshake
	}
	c.settle(now, err)
	return nil
}

func (l *http2Lane) made(now time.Time, err error) {
	l.dialing = false
	if err != nil && len(l.unsent) > 0 {
		l.loop.done(l.unsent[0].timing, now, 0, err)
		l.unsent = l.unsent[1:]
	}
	l.settle(now)
}

// settle sends what is unsent, and offers the loop the room that is left.
func (l *http2Lane) settle(now time.Time) {
	if l.conn == nil && len(l.unsent) > 0 && !l.dialing && l.loop.making.ctx.Err() == nil {
		l.connect()
	}
	for l.conn != nil && len(l.unsent) > 0 && l.active < l.conn.most() {
		c := l.conn
		c.start(l.unsent[0], now)
		c.queueFlush()
		l.unsent = l.unsent[1:]
	}
	if l.room() {
		l.loop.free.add(l)
	}
}

func (l *http2Lane) expire(now time.Time) (next time.Time) {
	for c := range l.open {
		if at := now.Add(c.expire(now)); next.IsZero() || at.Before(next) {
			next = at
		}
		c.settle(now, nil)
	}
	return next
}

func (l *http2Lane) giveUp(now time.Time, why error) {
	l.dialing = false
	for _, r := range l.unsent {
		l.loop.done(r.timing, now, 0, why)
	}
	l.unsent = nil
	for c := range l.open {
		if len(c.streams) > 0 {
			c.fail(net.ErrClosed)
		}
		c.settle(now, nil)
	}
	l.settle(now)
}
