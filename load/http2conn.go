package load

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"

	h2 "golang.org/x/net/http2"
)

// Sizes of HTTP/2, RFC 9113.
const (
	frameHead    = 9        // a frame's head, section 4.1
	frameMost    = 16 << 10 // the longest frame payload that we accept and, unless told otherwise, send
	windowFirst  = 65535    // the initial flow-control window, section 6.9.2
	tableMost    = 4096     // of HPACK's dynamic table, RFC 7541 section 4.2
	streamsFirst = 100      // streams at a time until the server's SETTINGS come, section 6.5.2
	streamsMost  = 1 << 30  // streams at a time if they do not say
	streamWindow = 16 << 20 // the window that we give a stream
	connWindow   = 64 << 20 // the window that we give a connection
	lastStream   = 1 << 30  // a connection is replaced after this stream, well before identifiers run out
)

// An http2Conn is one connection of a lane.
type http2Conn struct {
	lane *http2Lane
	conn carrier
	http2Times
	http2Output
	http2Streams
	leaving bool  // no more streams may begin here
	failed  error // why it was given up, nil if it was not

	allowed  http2Limits
	headers  headerEncoder
	answers  headerDecoder
	partial  headerBlock
	received int // octets of the connection's window used up since the last update
}

// http2Times are when a connection was made, and when the last octets came.
type http2Times struct{ made, heard time.Time }

// http2Output is what is to be written.
type http2Output struct {
	out, spare []byte // the second is for use during a write
	flushes    bool   // it is among the loop's unwritten
}

// http2Streams are a connection's requests under way.
type http2Streams struct {
	streams map[uint32]*stream
	idle    []*stream // for reuse
	next    uint32    // the next stream's number
	waiting []*stream // those whose bodies wait for a window
}

// A carrier carries what an http2Conn writes: a socket.
type carrier interface {
	// write sends data, which must stay as it is until the carrier is drained.
	write(data []byte) error
	drained() bool
	drop()
}

// http2Limits are what the server allows.
type http2Limits struct {
	begun     bool  // its SETTINGS have come
	streams   int   // at a time
	frame     int   // length of a frame
	window    int64 // left of the connection's window
	windowNew int64 // a stream's initial window
}

// A headerBlock is a header that goes on in CONTINUATION frames.
type headerBlock struct {
	octets []byte
	id     uint32 // its stream, 0 if none is under way
	ends   bool   // the stream ends with it
}

// A stream is a request under way.
type stream struct {
	answer
	request  int // its index in the line's requests
	id       uint32
	timing   timing
	refused  int    // how often the server refused the request's earlier streams
	rest     []byte // the part of the request's body that is not sent yet
	window   int64
	unread   int    // octets of the stream's window used up since the last update
	received int64  // octets of the answer's body so far
	prefix   []byte // the first five octets of the body
}

// answer is the content of a header and a trailer.
type answer struct {
	status  int    // 0 if there is none
	grpc    int    // grpc-status, -1 if it does not say
	message string // grpc-message
	kind    string // content-type
	length  int64  // content-length, or untilEnd, or conflicting
}

// conflicting is a content-length that is no number, or that has two values.
const conflicting = -3

func newHTTP2Conn(l *http2Lane, conn carrier) *http2Conn {
	c := &http2Conn{
		lane: l, conn: conn, http2Times: http2Times{made: time.Now()}, http2Streams: http2Streams{streams: map[uint32]*stream{}, next: 1},
		allowed: http2Limits{streams: streamsFirst, frame: frameMost, window: windowFirst, windowNew: windowFirst},
		headers: newHeaderEncoder(len(l.requests.all)),
	}
	c.out = append(c.out, h2.ClientPreface...)
	c.head(12, h2.FrameSettings, 0, 0)
	for _, setting := range []h2.Setting{{ID: h2.SettingEnablePush, Val: 0}, {ID: h2.SettingInitialWindowSize, Val: streamWindow}} {
		c.out = binary.BigEndian.AppendUint16(c.out, uint16(setting.ID))
		c.out = binary.BigEndian.AppendUint32(c.out, setting.Val)
	}
	c.windowUpdate(0, connWindow-windowFirst)
	return c
}

// most returns how many streams may be under way at a time.
func (c *http2Conn) most() int { return min(c.lane.requests.room, c.allowed.streams) }

// start adds a request to what is to be written, without flushing.
func (c *http2Conn) start(r repeat, now time.Time) {
	var s *stream
	if n := len(c.idle); n > 0 {
		s, c.idle = c.idle[n-1], c.idle[:n-1]
		*s = stream{prefix: s.prefix[:0]}
	} else {
		s = new(stream)
	}
	s.id, s.timing, s.refused, s.request = c.next, r.timing, r.refused, r.request
	s.timing.sent = now
	s.rest, s.window = c.lane.requests.all[r.request].body, c.allowed.windowNew
	s.grpc, s.length = -1, untilEnd
	if c.next += 2; c.next > lastStream {
		c.leave()
	}
	c.streams[s.id] = s
	c.lane.active++
	c.sendHeader(s)
	if len(s.rest) > 0 && !c.sendBody(s) {
		c.waiting = append(c.waiting, s)
	}
}

func (c *http2Conn) sendHeader(s *stream) {
	block, kind := c.headers.encode(s.request, c.lane.requests.all[s.request].fields), h2.FrameHeaders
	var flags h2.Flags
	if len(s.rest) == 0 {
		flags = h2.FlagHeadersEndStream
	}
	for first := true; first || len(block) > 0; first = false {
		n := min(len(block), c.allowed.frame)
		if n == len(block) {
			flags |= h2.FlagHeadersEndHeaders
		}
		c.head(n, kind, flags, s.id)
		c.out = append(c.out, block[:n]...)
		block, kind, flags = block[n:], h2.FrameContinuation, 0
	}
}

// sendBody sends as much of a body as the windows allow, and reports whether that was all.
func (c *http2Conn) sendBody(s *stream) bool {
	for len(s.rest) > 0 {
		n := int(min(int64(len(s.rest)), int64(c.allowed.frame), s.window, c.allowed.window))
		if n <= 0 {
			return false
		}
		var flags h2.Flags
		if n == len(s.rest) {
			flags = h2.FlagDataEndStream
		}
		c.head(n, h2.FrameData, flags, s.id)
		c.out = append(c.out, s.rest[:n]...)
		s.rest = s.rest[n:]
		s.window -= int64(n)
		c.allowed.window -= int64(n)
	}
	return true
}

// resume sends what was waiting for a window.
func (c *http2Conn) resume() {
	still := c.waiting[:0]
	for _, s := range c.waiting {
		if c.streams[s.id] == s && !c.sendBody(s) {
			still = append(still, s)
		}
	}
	clear(c.waiting[len(still):])
	c.waiting = still
}

// head appends a frame's head.
func (c *http2Conn) head(length int, kind h2.FrameType, flags h2.Flags, id uint32) {
	c.out = append(c.out, byte(length>>16), byte(length>>8), byte(length), byte(kind), byte(flags),
		byte(id>>24), byte(id>>16), byte(id>>8), byte(id))
}

func (c *http2Conn) windowUpdate(id uint32, n int) {
	c.head(4, h2.FrameWindowUpdate, 0, id)
	c.out = binary.BigEndian.AppendUint32(c.out, uint32(n))
}

func (c *http2Conn) reset(id uint32, code h2.ErrCode) {
	c.head(4, h2.FrameRSTStream, 0, id)
	c.out = binary.BigEndian.AppendUint32(c.out, uint32(code))
}

// flush writes what is to be written, if what was written before has gone.
func (c *http2Conn) flush() {
	if len(c.out) == 0 || c.failed != nil || !c.conn.drained() {
		return
	}
	buf := c.out
	c.out, c.spare = c.spare[:0], buf
	if err := c.conn.write(buf); err != nil {
		c.fail(err)
	}
}

// wantsFlush has the loop flush, once it has handled everything else.
func (c *http2Conn) wantsFlush() {
	if !c.flushes {
		c.flushes = true
		c.lane.loop.unwritten = append(c.lane.loop.unwritten, c)
	}
}

// flushNow is what the loop then does.
func (c *http2Conn) flushNow(now time.Time) {
	c.flushes = false
	if c.flush(); c.failed != nil {
		c.settle(now, nil)
	}
}

// settle does what is to be done after something has happened.
func (c *http2Conn) settle(now time.Time, err error) {
	l := c.lane
	if err != nil {
		c.fail(err)
	}
	if l.open[c] && c.over() {
		c.end(now)
		if s, ok := c.conn.(*socket); ok {
			l.unused = append(l.unused, s)
		}
	} else if c.failed == nil && len(c.out) > 0 && c.conn.drained() {
		c.wantsFlush()
	}
	l.settle(now)
}

// leave makes this connection begin no more streams.
func (c *http2Conn) leave() {
	c.leaving = true
	if c.lane.conn == c {
		c.lane.conn = nil
	}
}

// fail gives the connection up. The next settle fails its requests.
func (c *http2Conn) fail(err error) {
	if c.failed == nil {
		c.failed = err
		c.conn.drop()
	}
}

func (c *http2Conn) close() { c.fail(net.ErrClosed) }

// take handles the frames that came, and returns what is left: part of a frame.
func (c *http2Conn) take(data []byte, now time.Time) (left []byte, err error) {
	c.heard = now
	for c.failed == nil {
		frame, whole, err := cutFrame(data)
		if err == nil && whole {
			err = c.frame(frame, now)
			data = data[len(frame):]
		}
		if err != nil {
			return nil, err
		}
		if !whole {
			break
		}
	}
	return data, nil
}

// over reports whether nothing more can come that matters.
func (c *http2Conn) over() bool { return c.failed != nil || c.leaving && len(c.streams) == 0 }

// expire gives up requests that take longer than allowed, and returns how long the others may still
// take. It also gives up the connection if it has no other request and nothing has come meanwhile.
func (c *http2Conn) expire(now time.Time) (next time.Duration) {
	limit, late, heard := c.lane.loop.limit.timeout, c.lane.requests.late, false
	next = limit
	for _, s := range c.streams {
		if left := limit - now.Sub(s.timing.sent); left > 0 {
			next = min(next, left)
			continue
		}
		heard = heard || c.heard.After(s.timing.sent)
		c.reset(s.id, h2.ErrCodeCancel)
		c.finish(s, now, 0, late)
		if len(c.streams) == 0 && !heard {
			c.fail(late)
		}
	}
	return next
}

// end gives up all requests under way.
func (c *http2Conn) end(now time.Time) {
	c.leave()
	why := c.failed
	if c.next == 1 && why != nil && now.Sub(c.made) < time.Second {
		c.lane.failedEarly = why
	}
	for _, s := range c.streams {
		c.finish(s, now, 0, why)
	}
	c.fail(net.ErrClosed)
	delete(c.lane.open, c)
}

// cutFrame cuts off the first frame, if it is complete.
func cutFrame(data []byte) (frame []byte, whole bool, err error) {
	if len(data) < frameHead {
		return nil, false, nil
	}
	length := int(data[0])<<16 | int(data[1])<<8 | int(data[2])
	if length > frameMost {
		if string(data[:5]) == "HTTP/" {
			return nil, false, errors.New("the server does not speak HTTP/2: it answers by HTTP/1")
		}
		return nil, false, fmt.Errorf("a frame of %d octets is longer than allowed", length)
	}
	if len(data) < frameHead+length {
		return nil, false, nil
	}
	return data[:frameHead+length], true, nil
}

// finish ends a request.
func (c *http2Conn) finish(s *stream, now time.Time, status int, err error) {
	delete(c.streams, s.id)
	c.lane.active--
	c.lane.loop.done(c.lane.requests.all[s.request].group, s.timing, now, status, err)
	if len(s.rest) == 0 { // otherwise it is in waiting
		c.idle = append(c.idle, s)
	}
}
