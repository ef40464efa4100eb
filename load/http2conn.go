package load

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
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

// An http2Conn is one connection. Its line's mutex guards all of it, except for what only its
// reader uses.
type http2Conn struct {
	line *http2
	conn io.WriteCloser
	made time.Time
	// heard is when the last octets came.
	heard time.Time

	out, spare []byte // what is to be written, and a second buffer for use during a write
	writing    bool   // a goroutine is writing

	streams map[uint32]*stream
	idle    []*stream // for reuse
	next    uint32    // the next stream's number
	leaving bool      // no more streams may begin here
	failed  error     // why it was given up, nil if it was not

	// What the server allows.
	limit     int   // streams at a time
	frame     int   // length of a frame
	window    int64 // left of the connection's window
	windowNew int64 // a stream's initial window
	waiting   []*stream

	// The requests' encoded headers. Once all fields of one are in the dynamic table, its octets
	// stay the same until the table changes.
	encoder *hpack.Encoder
	encoded bytes.Buffer
	table   int // counts the table's changes
	sending []sentHeader

	// Used by the reader only.
	decoder *hpack.Decoder
	got     answer        // of the header that is being decoded
	blocks  [2]knownBlock // headers that came; gRPC's alternate with its trailers
	oldest  int           // index of the older of them
	delayed []int         // indices of blocks that came again and have yet to change the table
	// delayedAdds is the number of fields that they add.
	delayedAdds int
	begun       bool   // the server's SETTINGS have come
	block       []byte // a header that goes on in CONTINUATION frames
	blockID     uint32 // its stream, 0 if none is under way
	blockEnds   bool   // the stream ends with it
	received    int    // octets of the connection's window used up since the last update
}

// A sentHeader is a header's octets, valid while table is the connection's; 0 for none.
type sentHeader struct {
	octets []byte
	table  int
}

// mostHeaders is the number of requests whose encoded headers are kept.
const mostHeaders = 64

// A stream is a request under way.
type stream struct {
	answer
	request  int // its index in the line's requests
	id       uint32
	due      time.Time
	sent     time.Time
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

func newHTTP2Conn(l *http2, conn io.WriteCloser) *http2Conn {
	c := &http2Conn{
		line: l, conn: conn, made: time.Now(), streams: map[uint32]*stream{}, next: 1,
		table: 1, limit: streamsFirst, frame: frameMost, window: windowFirst, windowNew: windowFirst,
	}
	c.sending = make([]sentHeader, min(len(l.requests), mostHeaders))
	c.encoder = hpack.NewEncoder(&c.encoded)
	c.decoder = hpack.NewDecoder(tableMost, c.field)
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
func (c *http2Conn) most() int { return min(c.line.room, c.limit) }

// start adds a request to what is to be written, without flushing.
func (c *http2Conn) start(r repeat, now time.Time) {
	var s *stream
	if n := len(c.idle); n > 0 {
		s, c.idle = c.idle[n-1], c.idle[:n-1]
		*s = stream{prefix: s.prefix[:0]}
	} else {
		s = new(stream)
	}
	s.id, s.due, s.sent, s.refused, s.rest, s.window = c.next, r.due, now, r.refused, c.line.requests[r.request].body, c.windowNew
	s.request = r.request
	s.grpc, s.length = -1, untilEnd
	if c.next += 2; c.next > lastStream {
		c.leave()
	}
	c.streams[s.id] = s
	c.line.active++
	c.sendHeader(s)
	if len(s.rest) > 0 && !c.sendBody(s) {
		c.waiting = append(c.waiting, s)
	}
}

func (c *http2Conn) sendHeader(s *stream) {
	header := &c.sending[s.request%len(c.sending)]
	if header.table != c.table || len(c.line.requests) > len(c.sending) {
		c.encoded.Reset()
		for _, f := range c.line.requests[s.request].fields {
			_ = c.encoder.WriteField(f) // a bytes.Buffer accepts everything
		}
		header.octets, header.table = append(header.octets[:0], c.encoded.Bytes()...), c.table
		if !steady(header.octets) {
			c.table++
		}
	}
	var flags h2.Flags
	if len(s.rest) == 0 {
		flags = h2.FlagHeadersEndStream
	}
	block, kind := header.octets, h2.FrameHeaders
	for first := true; first || len(block) > 0; first = false {
		n := min(len(block), c.frame)
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
		n := int(min(int64(len(s.rest)), int64(c.frame), s.window, c.window))
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
		c.window -= int64(n)
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

// flush writes what is waiting to be written. If another goroutine is writing already, that one
// writes this too.
func (c *http2Conn) flush() {
	for len(c.out) > 0 && !c.writing && c.failed == nil {
		buf := c.out
		c.out, c.writing = c.spare[:0], true
		c.line.mu.Unlock()
		_, err := c.conn.Write(buf)
		c.line.mu.Lock()
		c.spare, c.writing = buf, false
		if err != nil {
			c.fail(err)
		}
	}
}

// fill sends requests that are due while there is room.
func (c *http2Conn) fill(now time.Time) {
	l := c.line
	for !c.leaving && c.failed == nil && l.work != nil && l.active+l.reserved < c.most() {
		r, ok := l.repeated()
		if !ok {
			if r.due, ok = l.work.Try(now, l.freed); !ok {
				return
			}
			r.request = l.pick()
		}
		c.start(r, now)
	}
}

// leave makes this connection begin no more streams.
func (c *http2Conn) leave() {
	c.leaving = true
	if c.line.conn == c {
		c.line.conn = nil
		c.line.changed.Broadcast()
	}
}

// fail gives the connection up. Its reader then fails the waiting requests.
func (c *http2Conn) fail(err error) {
	if c.failed == nil {
		c.failed = err
		_ = c.conn.Close()
	}
}

func (c *http2Conn) close() { c.fail(net.ErrClosed) }

// read takes frames until the connection ends. The reader's goroutine runs it.
func (c *http2Conn) read(conn io.Reader) {
	l := c.line
	buf := make([]byte, 4<<10) // grows while reads fill it
	have := 0
	for {
		n, err := conn.Read(buf[have:])
		now := time.Now()
		have += n
		l.mu.Lock()
		left := c.feed(buf[:have], now)
		if have == len(buf) && len(buf) < 4*frameMost {
			buf = make([]byte, 2*len(buf))
		}
		have = copy(buf, left)
		if err != nil {
			c.fail(err)
		}
		if c.over() {
			c.end(now)
			l.mu.Unlock()
			return
		}
		c.fill(now)
		if l.active < c.most() || l.active == 0 {
			l.changed.Broadcast()
		}
		c.flushApart()
		l.mu.Unlock()
	}
}

// feed handles the frames that came, and returns what is left: part of a frame.
func (c *http2Conn) feed(data []byte, now time.Time) (left []byte) {
	c.heard = now
	for c.failed == nil {
		frame, whole, err := cutFrame(data)
		if err == nil && whole {
			err = c.take(frame, now)
			data = data[len(frame):]
		}
		if err != nil {
			c.fail(err)
		}
		if !whole {
			break
		}
	}
	return data
}

// over reports whether nothing more can come that matters.
func (c *http2Conn) over() bool { return c.failed != nil || c.leaving && len(c.streams) == 0 }

// expire gives up requests that take longer than allowed, and returns how long the others may still
// take. It also gives up the connection if it has no other request and nothing has come meanwhile.
func (c *http2Conn) expire(now time.Time) (next time.Duration) {
	l, heard := c.line, false
	next = l.timeout
	for _, s := range c.streams {
		if left := l.timeout - now.Sub(s.sent); left > 0 {
			next = min(next, left)
			continue
		}
		heard = heard || c.heard.After(s.sent)
		c.reset(s.id, h2.ErrCodeCancel)
		c.finish(s, now, 0, l.late)
		if len(c.streams) == 0 && !heard {
			c.fail(l.late)
		}
	}
	return next
}

// flushApart writes as flush does, but uses a goroutine where there is much to write: the server
// may accept no more until its answers are read.
func (c *http2Conn) flushApart() {
	if len(c.out) <= writeAtOnce {
		c.flush()
		return
	}
	c.line.readers.Go(func() {
		c.line.mu.Lock()
		defer c.line.mu.Unlock()
		c.flush()
	})
}

// end gives up all requests under way.
func (c *http2Conn) end(now time.Time) {
	l := c.line
	c.leave()
	why := c.failed
	if gone(why) {
		why = errGone
	}
	if c.next == 1 && why != nil && now.Sub(c.made) < time.Second {
		l.failedEarly = why
	}
	for _, s := range c.streams {
		c.finish(s, now, 0, why)
	}
	c.fail(net.ErrClosed)
	delete(l.open, c)
	l.changed.Broadcast()
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
	l := c.line
	delete(c.streams, s.id)
	if l.active == c.most() {
		l.freed = now
	}
	l.active--
	if l.work != nil {
		l.work.done(l.requests[s.request].group, s.due, now, status, err)
	}
	if len(s.rest) == 0 { // otherwise it is in waiting
		c.idle = append(c.idle, s)
	}
}

// field takes in one field of a header.
func (c *http2Conn) field(f hpack.HeaderField) {
	switch f.Name {
	case ":status":
		c.got.status, _ = strconv.Atoi(f.Value)
	case "grpc-status":
		if n, err := strconv.Atoi(f.Value); err == nil {
			c.got.grpc = n
		}
	case "grpc-message":
		c.got.message = f.Value
	case "content-type":
		c.got.kind = f.Value
	case "content-length":
		n, err := strconv.ParseUint(f.Value, 10, 63)
		if err != nil || c.got.length != untilEnd && c.got.length != int64(n) {
			c.got.length = conflicting
			return
		}
		c.got.length = int64(n)
	}
}

// A knownBlock is a header's octets and their meaning.
type knownBlock struct {
	octets []byte
	answer answer
	adds   int  // how many fields it adds to the table
	own    bool // it always means this, whatever the table has
}

// delayedMost is how many fields the dynamic table can have: each counts as 32 octets and more (RFC
// 7541 section 4.1).
const delayedMost = tableMost / 32

// decode returns the meaning of a header. Each header has to be decoded, even if nobody needs it,
// because it can change the table. It is not decoded again if the same octets came before and mean
// the same: they have no index into the table, or the table has not changed since. What such a
// header adds to the table is added when another header needs it.
func (c *http2Conn) decode(block []byte) (answer, error) {
	for i := range c.blocks {
		if k := &c.blocks[i]; len(block) > 0 && bytes.Equal(block, k.octets) {
			if k.adds > 0 {
				c.delay(i)
			}
			return k.answer, nil
		}
	}
	for _, i := range c.delayed {
		if err := c.decodeNow(c.blocks[i].octets); err != nil {
			return c.got, err
		}
	}
	c.delayed, c.delayedAdds = c.delayed[:0], 0
	if err := c.decodeNow(block); err != nil {
		return c.got, err
	}
	adds, own, ok := examine(block)
	if adds > 0 || !ok {
		c.tableChanged()
	}
	if ok && (own || adds == 0) {
		k := &c.blocks[c.oldest]
		k.octets, k.answer, k.adds, k.own = append(k.octets[:0], block...), c.got, adds, own
		c.oldest = 1 - c.oldest
	}
	return c.got, nil
}

func (c *http2Conn) decodeNow(block []byte) error {
	c.got = answer{grpc: -1, length: untilEnd}
	if _, err := c.decoder.Write(block); err != nil {
		return fmt.Errorf("decode a header: %w", err)
	}
	if err := c.decoder.Close(); err != nil {
		return fmt.Errorf("decode a header: %w", err)
	}
	return nil
}

// delay notes that the fields of a known block have to be added to the table. Those that later ones
// would push out of it are forgotten.
func (c *http2Conn) delay(i int) {
	c.tableChanged()
	c.delayed = append(c.delayed, i)
	c.delayedAdds += c.blocks[i].adds
	for first := c.blocks[c.delayed[0]].adds; c.delayedAdds-first >= delayedMost; first = c.blocks[c.delayed[0]].adds {
		c.delayed = append(c.delayed[:0], c.delayed[1:]...)
		c.delayedAdds -= first
	}
}

// tableChanged forgets known blocks in which an index may now mean another field.
func (c *http2Conn) tableChanged() {
	for i := range c.blocks {
		if k := &c.blocks[i]; !k.own {
			k.octets = k.octets[:0]
		}
	}
}
