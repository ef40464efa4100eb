package load

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"

	h2 "golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
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

type http2Conn struct {
	lane        *http2Lane
	conn        carrier
	made, heard time.Time          // when it was made, and when the server last sent something
	streams     map[uint32]*stream // requests under way
	next        uint32             // the next stream's number
	waiting     []*stream          // those whose bodies wait for a window
	allowed     http2Limits
	out         http2Output
	in          http2Input
	leaving     bool  // no more streams may begin here
	failed      error // why it was given up, nil if it was not
}

type http2Output struct {
	frames, spare []byte // the second is for use during a write
	queued        bool   // the connection is among the loop's unwritten
	headers       headerEncoder
}

// http2Input is the part of what was read that later frames depend on.
type http2Input struct {
	headers  headerDecoder
	partial  headerBlock
	received int // octets of the connection's window used up since the last update
}

// A carrier carries what an http2Conn writes: a socket.
type carrier interface {
	// write sends data, which must stay as it is until the carrier is drained.
	write(data []byte) error
	drained() bool
	drop()
}

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
	attempt  attempt
	id       uint32
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
		lane: l, conn: conn, made: time.Now(), streams: map[uint32]*stream{}, next: 1,
		allowed: http2Limits{streams: streamsFirst, frame: frameMost, window: windowFirst, windowNew: windowFirst},
	}
	c.out.headers = newHeaderEncoder(len(l.requests.all))
	c.out.frames = append(c.out.frames, h2.ClientPreface...)
	c.out.head(12, h2.FrameSettings, 0, 0)
	for _, setting := range []h2.Setting{{ID: h2.SettingEnablePush, Val: 0}, {ID: h2.SettingInitialWindowSize, Val: streamWindow}} {
		c.out.frames = binary.BigEndian.AppendUint16(c.out.frames, uint16(setting.ID))
		c.out.frames = binary.BigEndian.AppendUint32(c.out.frames, setting.Val)
	}
	c.out.windowUpdate(0, connWindow-windowFirst)
	return c
}

// most returns how many streams may be under way at a time.
func (c *http2Conn) most() int { return min(c.lane.requests.room, c.allowed.streams) }

// start appends a request's frames, without flushing.
func (c *http2Conn) start(a attempt, now time.Time) {
	s := c.lane.newStream()
	request := &c.lane.requests.all[a.request]
	s.id, s.attempt = c.next, a
	s.attempt.timing.sent = now
	s.rest, s.window = request.body, c.allowed.windowNew
	s.grpc, s.length = -1, untilEnd
	if c.next += 2; c.next > lastStream {
		c.leave()
	}
	c.streams[s.id] = s
	c.lane.active++
	c.out.header(s, request.fields, c.allowed.frame)
	if !c.out.body(s, &c.allowed) {
		c.waiting = append(c.waiting, s)
	}
}

// header appends a request's HEADERS, and CONTINUATION where a frame may not be as long.
func (o *http2Output) header(s *stream, fields []hpack.HeaderField, longest int) {
	block, kind := o.headers.encode(s.attempt.request, fields), h2.FrameHeaders
	var flags h2.Flags
	if len(s.rest) == 0 {
		flags = h2.FlagHeadersEndStream
	}
	for first := true; first || len(block) > 0; first = false {
		n := min(len(block), longest)
		if n == len(block) {
			flags |= h2.FlagHeadersEndHeaders
		}
		o.head(n, kind, flags, s.id)
		o.frames = append(o.frames, block[:n]...)
		block, kind, flags = block[n:], h2.FrameContinuation, 0
	}
}

// body appends as much of a request's body as the windows allow, and reports whether that was all.
func (o *http2Output) body(s *stream, allowed *http2Limits) bool {
	for len(s.rest) > 0 {
		n := int(min(int64(len(s.rest)), int64(allowed.frame), s.window, allowed.window))
		if n <= 0 {
			return false
		}
		var flags h2.Flags
		if n == len(s.rest) {
			flags = h2.FlagDataEndStream
		}
		o.head(n, h2.FrameData, flags, s.id)
		o.frames = append(o.frames, s.rest[:n]...)
		s.rest = s.rest[n:]
		s.window -= int64(n)
		allowed.window -= int64(n)
	}
	return true
}

func (o *http2Output) head(length int, kind h2.FrameType, flags h2.Flags, id uint32) {
	o.frames = append(o.frames, byte(length>>16), byte(length>>8), byte(length), byte(kind), byte(flags),
		byte(id>>24), byte(id>>16), byte(id>>8), byte(id))
}

func (o *http2Output) windowUpdate(id uint32, n int) {
	o.head(4, h2.FrameWindowUpdate, 0, id)
	o.frames = binary.BigEndian.AppendUint32(o.frames, uint32(n))
}

func (o *http2Output) reset(id uint32, code h2.ErrCode) {
	o.head(4, h2.FrameRSTStream, 0, id)
	o.frames = binary.BigEndian.AppendUint32(o.frames, uint32(code))
}

// resume sends what was waiting for a window.
func (c *http2Conn) resume() {
	still := c.waiting[:0]
	for _, s := range c.waiting {
		if c.streams[s.id] == s && !c.out.body(s, &c.allowed) {
			still = append(still, s)
		}
	}
	clear(c.waiting[len(still):])
	c.waiting = still
}

// flush writes the frames, once the connection has taken the earlier ones.
func (c *http2Conn) flush() {
	if len(c.out.frames) == 0 || c.failed != nil || !c.conn.drained() {
		return
	}
	frames := c.out.frames
	c.out.frames, c.out.spare = c.out.spare[:0], frames
	if err := c.conn.write(frames); err != nil {
		c.fail(err)
	}
}

// queueFlush has the loop call flushNow, once it has handled everything else.
func (c *http2Conn) queueFlush() {
	if !c.out.queued {
		c.out.queued = true
		c.lane.loop.unwritten = append(c.lane.loop.unwritten, c)
	}
}

func (c *http2Conn) flushNow(now time.Time) {
	c.out.queued = false
	if c.flush(); c.failed != nil {
		c.settle(now, nil)
	}
}

// settle ends a connection that is useless, or queues its frames.
func (c *http2Conn) settle(now time.Time, err error) {
	l := c.lane
	if err != nil {
		c.fail(err)
	}
	if l.open[c] && c.useless() {
		c.end(now)
		if s, ok := c.conn.(*socket); ok {
			l.unused = append(l.unused, s)
		}
	} else if c.failed == nil && len(c.out.frames) > 0 && c.conn.drained() {
		c.queueFlush()
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

// take handles the frames that came, and returns the beginning of another.
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

// useless reports whether it has failed, or has no request and may begin none.
func (c *http2Conn) useless() bool { return c.failed != nil || c.leaving && len(c.streams) == 0 }

// expire gives up requests that are late, and returns how long the others may still take. If it was
// the last request, and nothing has come since it was sent, the connection is given up too.
func (c *http2Conn) expire(now time.Time) (next time.Duration) {
	limit, late, heard := c.lane.loop.expiry.timeout, c.lane.requests.late, false
	next = limit
	for _, s := range c.streams {
		if left := limit - now.Sub(s.attempt.timing.sent); left > 0 {
			next = min(next, left)
			continue
		}
		heard = heard || c.heard.After(s.attempt.timing.sent)
		c.out.reset(s.id, h2.ErrCodeCancel)
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

func (c *http2Conn) finish(s *stream, now time.Time, status int, err error) {
	delete(c.streams, s.id)
	c.lane.active--
	c.lane.loop.done(s.attempt.timing, now, status, err)
	if len(s.rest) == 0 { // otherwise it is in waiting
		c.lane.idle = append(c.lane.idle, s)
	}
}
