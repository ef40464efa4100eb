package load

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"time"

	h2 "golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

func (c *http2Conn) frame(frame []byte, now time.Time) error {
	kind, flags := h2.FrameType(frame[3]), h2.Flags(frame[4])
	id := binary.BigEndian.Uint32(frame[5:]) & (1<<31 - 1)
	payload := frame[frameHead:]
	partial := &c.in.partial
	switch {
	case !c.allowed.begun && kind != h2.FrameSettings:
		return errors.New("the server does not speak HTTP/2: it does not begin with SETTINGS")
	case partial.id != 0 && (kind != h2.FrameContinuation || id != partial.id):
		return fmt.Errorf("%v came within a header", kind)
	}
	switch kind {
	case h2.FrameData:
		return c.data(id, flags, payload, now)
	case h2.FrameHeaders:
		return c.headersFrame(id, flags, payload, now)
	case h2.FrameContinuation:
		if partial.id == 0 {
			return errors.New("CONTINUATION came without HEADERS")
		}
		if partial.octets = append(partial.octets, payload...); len(partial.octets) > 1<<20 {
			return errors.New("a header is longer than 1 MB")
		}
		if flags.Has(h2.FlagContinuationEndHeaders) {
			partial.id = 0
			return c.header(id, partial.octets, partial.ends, now)
		}
		return nil
	case h2.FrameRSTStream:
		if len(payload) != 4 {
			return errors.New("RST_STREAM of a wrong length")
		}
		if s := c.streams[id]; s != nil {
			code := h2.ErrCode(binary.BigEndian.Uint32(payload))
			if code == h2.ErrCodeRefusedStream && s.attempt.refused < mostRefused {
				c.retry(s, s.attempt.refused+1) // the request was not processed: RFC 9113 section 8.7
			} else {
				c.finish(s, now, 0, fmt.Errorf("the server reset the stream: %v", code))
			}
		}
		return nil
	case h2.FrameSettings:
		return c.settings(flags, payload)
	case h2.FramePing:
		if len(payload) != 8 {
			return errors.New("PING of a wrong length")
		}
		if !flags.Has(h2.FlagPingAck) {
			c.out.head(8, h2.FramePing, h2.FlagPingAck, 0)
			c.out.frames = append(c.out.frames, payload...)
		}
		return nil
	case h2.FrameGoAway:
		return c.goAway(payload)
	case h2.FrameWindowUpdate:
		return c.moreWindow(id, payload, now)
	case h2.FramePushPromise:
		return errors.New("the server pushes, which was switched off")
	}
	return nil // PRIORITY frames and unknown types, RFC 9113 section 4.1
}

func unpad(payload []byte, padded bool) ([]byte, error) {
	if !padded {
		return payload, nil
	}
	if len(payload) == 0 || int(payload[0]) >= len(payload) {
		return nil, errors.New("a frame's padding is longer than the frame")
	}
	return payload[1 : len(payload)-int(payload[0])], nil
}

func (c *http2Conn) data(id uint32, flags h2.Flags, payload []byte, now time.Time) error {
	// Padding counts towards the windows, and so does data for a stream that has ended.
	if c.in.received += len(payload); c.in.received > connWindow/2 {
		c.out.windowUpdate(0, c.in.received)
		c.in.received = 0
	}
	body, err := unpad(payload, flags.Has(h2.FlagDataPadded))
	if err != nil {
		return err
	}
	s := c.streams[id]
	if s == nil {
		return c.known(id)
	}
	s.received += int64(len(body))
	if n := 5 - len(s.prefix); n > 0 {
		s.prefix = append(s.prefix, body[:min(n, len(body))]...)
	}
	if flags.Has(h2.FlagDataEndStream) {
		c.complete(s, now)
		return nil
	}
	if s.unread += len(payload); s.unread > streamWindow/2 {
		c.out.windowUpdate(id, s.unread)
		s.unread = 0
	}
	return nil
}

func (c *http2Conn) headersFrame(id uint32, flags h2.Flags, payload []byte, now time.Time) error {
	block, err := unpad(payload, flags.Has(h2.FlagHeadersPadded))
	if err != nil {
		return err
	}
	if flags.Has(h2.FlagHeadersPriority) {
		if len(block) < 5 {
			return errors.New("HEADERS of a wrong length")
		}
		block = block[5:]
	}
	ends := flags.Has(h2.FlagHeadersEndStream)
	if flags.Has(h2.FlagHeadersEndHeaders) {
		return c.header(id, block, ends, now)
	}
	c.in.partial = headerBlock{append(c.in.partial.octets[:0], block...), id, ends}
	return nil
}

// header handles a complete header, or a trailer.
func (c *http2Conn) header(id uint32, block []byte, ends bool, now time.Time) error {
	got, err := c.in.headers.decode(block)
	if err != nil {
		return err
	}
	s := c.streams[id]
	if s == nil {
		return c.known(id)
	}
	if got.status >= 100 && got.status < 200 {
		return nil // another one follows
	}
	if s.status == 0 {
		s.attempt.timing.begins = now.Sub(s.attempt.timing.sent)
	}
	if got.status != 0 {
		s.status, s.length = got.status, got.length
	}
	if got.kind != "" {
		s.kind = got.kind
	}
	if got.grpc >= 0 {
		s.grpc, s.message = got.grpc, got.message
	}
	if ends {
		c.complete(s, now)
	}
	return nil
}

// known reports whether there has been such a stream.
func (c *http2Conn) known(id uint32) error {
	if id == 0 || id%2 == 0 || id >= c.next {
		return fmt.Errorf("the server answers on stream %d, which does not exist", id)
	}
	return nil
}

func (c *http2Conn) complete(s *stream, now time.Time) {
	if len(s.rest) > 0 {
		c.out.reset(s.id, h2.ErrCodeCancel) // the rest of the request does not change the answer
	}
	status, err := c.lane.requests.verdict(s)
	if err == nil {
		if err = s.wholeBody(c.lane.requests.all[s.attempt.request].fields[0].Value); err != nil {
			status = 0
		}
	}
	c.finish(s, now, status, err)
}

// wholeBody returns an error if an answer is not as long as it says: RFC 9113 section 8.1.1. An
// answer to HEAD has no body.
func (s *stream) wholeBody(method string) error {
	switch {
	case s.length == untilEnd || s.length == s.received:
		return nil
	case s.length == conflicting:
		return errLengths
	case method == http.MethodHead:
		return nil
	}
	return errors.New("the answer's body is not as long as its content-length")
}

func (c *http2Conn) settings(flags h2.Flags, payload []byte) error {
	if flags.Has(h2.FlagSettingsAck) {
		return nil
	}
	if len(payload)%6 != 0 {
		return errors.New("SETTINGS of a wrong length")
	}
	if !c.allowed.begun {
		c.allowed.begun, c.allowed.streams = true, streamsMost
	}
	for ; len(payload) > 0; payload = payload[6:] {
		setting := h2.Setting{ID: h2.SettingID(binary.BigEndian.Uint16(payload)), Val: binary.BigEndian.Uint32(payload[2:])}
		if err := setting.Valid(); err != nil {
			return err
		}
		switch setting.ID {
		case h2.SettingHeaderTableSize:
			c.out.headers.SetMaxDynamicTableSizeLimit(setting.Val)
			c.out.headers.table++
		case h2.SettingMaxConcurrentStreams:
			c.allowed.streams = int(min(setting.Val, streamsMost))
		case h2.SettingInitialWindowSize:
			for _, s := range c.streams {
				s.window += int64(setting.Val) - c.allowed.windowNew
			}
			c.allowed.windowNew = int64(setting.Val)
			c.resume()
		case h2.SettingMaxFrameSize:
			c.allowed.frame = min(int(setting.Val), 4*frameMost) // enough
		}
	}
	c.out.head(0, h2.FrameSettings, h2.FlagSettingsAck, 0)
	return nil
}

// goAway sends the requests that the server will not answer again, over another connection: RFC
// 9113 section 6.8.
func (c *http2Conn) goAway(payload []byte) error {
	if len(payload) < 8 {
		return errors.New("GOAWAY of a wrong length")
	}
	last := binary.BigEndian.Uint32(payload) & (1<<31 - 1)
	if code := h2.ErrCode(binary.BigEndian.Uint32(payload[4:])); code != h2.ErrCodeNo {
		return fmt.Errorf("the server gave the connection up: %v %q", code, payload[8:])
	}
	c.leave()
	for id, s := range c.streams {
		if id > last {
			c.retry(s, s.attempt.refused)
		}
	}
	return nil
}

// retry has the lane send a request again that the server did not process.
func (c *http2Conn) retry(s *stream, refused int) {
	delete(c.streams, s.id)
	c.lane.active--
	s.attempt.refused = refused
	c.lane.unsent = append(c.lane.unsent, s.attempt)
}

func (c *http2Conn) moreWindow(id uint32, payload []byte, now time.Time) error {
	if len(payload) != 4 {
		return errors.New("WINDOW_UPDATE of a wrong length")
	}
	more := int64(binary.BigEndian.Uint32(payload) & (1<<31 - 1))
	if id == 0 {
		if c.allowed.window += more; more == 0 || c.allowed.window > 1<<31-1 {
			return errors.New("WINDOW_UPDATE of a wrong size")
		}
	} else if s := c.streams[id]; s == nil {
		return c.known(id)
	} else if s.window += more; more == 0 || s.window > 1<<31-1 {
		c.out.reset(id, h2.ErrCodeFlowControl)
		c.finish(s, now, 0, errors.New("WINDOW_UPDATE of a wrong size"))
		return nil
	}
	c.resume()
	return nil
}

func fields(method, scheme, authority, path string, more ...hpack.HeaderField) []hpack.HeaderField {
	return append([]hpack.HeaderField{
		{Name: ":method", Value: method}, {Name: ":scheme", Value: scheme},
		{Name: ":authority", Value: authority}, {Name: ":path", Value: path},
	}, more...)
}
