package load

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	h2 "golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A script is the server's side of a connection.
type script struct {
	t *testing.T
	*h2.Framer
	net.Conn
	encoder *hpack.Encoder
	block   bytes.Buffer
	decoder *hpack.Decoder
}

// scripted is a server that plays a script to each connection. The script is told the connection's
// number.
func scripted(t *testing.T, play func(s *script, connection int)) *url.URL {
	t.Helper()
	return accepting(t, func(n int, conn net.Conn) {
		preface := make([]byte, len(h2.ClientPreface))
		if _, err := io.ReadFull(conn, preface); err != nil || string(preface) != h2.ClientPreface {
			t.Errorf("preface %q, %v", preface, err)
		}
		s := &script{t: t, Framer: h2.NewFramer(conn, conn), Conn: conn, decoder: hpack.NewDecoder(4096, nil)}
		s.encoder = hpack.NewEncoder(&s.block)
		play(s, n)
	})
}

// request waits for the next request's header and returns its stream; 0 at the end. It skips
// answers to pings and the like.
func (s *script) request() (id uint32, ends bool) {
	for {
		f, err := s.ReadFrame()
		if err != nil {
			return 0, false
		}
		if f, ok := f.(*h2.HeadersFrame); ok {
			fields, err := s.decoder.DecodeFull(f.HeaderBlockFragment())
			if err != nil || fmt.Sprint(fields[0], fields[3]) != fmt.Sprint(hpack.HeaderField{Name: ":method", Value: "GET"}, hpack.HeaderField{Name: ":path", Value: "/there"}) &&
				fields[0].Value != "POST" {
				s.t.Errorf("the request's header is %v, %v", fields, err)
			}
			return f.StreamID, f.StreamEnded()
		}
	}
}

func (s *script) header(fields ...string) []byte {
	s.block.Reset()
	for i := 0; i < len(fields); i += 2 {
		_ = s.encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return bytes.Clone(s.block.Bytes())
}

// answer sends an answer that has only a header.
func (s *script) answer(id uint32, fields ...string) {
	_ = s.WriteHeaders(h2.HeadersFrameParam{StreamID: id, BlockFragment: s.header(fields...), EndHeaders: true, EndStream: true})
}

// sent is the result of n requests over one connection with so many streams.
func sent(t *testing.T, u *url.URL, n, streams int, change func(*Target)) *Result {
	t.Helper()
	target := &Target{Proto: "http2", Conns: 1, Streams: streams, Request: Request{Method: http.MethodGet, URL: u}}
	if change != nil {
		change(target)
	}
	pool := opened(t, target)
	r := measured(t, Plan{Pacer: Constant{1000, time.Duration(n) * time.Millisecond}, Patience: 5 * time.Minute, Lines: pool.Lines})
	if r.Done != int64(n) {
		t.Errorf("%d of %d requests were answered", r.Done, n)
	}
	return r
}

// wantOnly checks that all failures have one reason, or that there are none.
func wantOnly(t *testing.T, r *Result, n int64, reason string) {
	t.Helper()
	if n == 0 && r.Failed() == 0 {
		return
	}
	for why, count := range r.Errors {
		if strings.Contains(why, reason) && count == n && len(r.Errors) == 1 {
			return
		}
	}
	t.Errorf("failures are %v, want %d of %q", r.Errors, n, reason)
}

// A server that goes away answers some streams; the other requests are sent again over another
// connection.
func TestGoAway(t *testing.T) {
	t.Parallel()
	var connections atomic.Int64
	u := scripted(t, func(s *script, n int) {
		connections.Add(1)
		_ = s.WriteSettings()
		if n > 0 {
			for id, _ := s.request(); id != 0; id, _ = s.request() {
				s.answer(id, ":status", "200")
			}
			return
		}
		first, _ := s.request()
		for range 2 { // seen and never answered
			s.request()
		}
		_ = s.WriteGoAway(first, h2.ErrCodeNo, nil)
		s.answer(first, ":status", "200")
		_, _ = io.Copy(io.Discard, s.Conn)
	})
	wantOnly(t, sent(t, u, 10, 3, nil), 0, "")
	if connections.Load() != 2 {
		t.Errorf("%d connections, want 2", connections.Load())
	}
}

func TestHTTP2Failures(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		play func(s *script, id uint32)
		want string
	}{
		"reset":     {func(s *script, id uint32) { _ = s.WriteRSTStream(id, h2.ErrCodeRefusedStream) }, "reset the stream: REFUSED_STREAM"},
		"status":    {func(s *script, id uint32) { s.answer(id, ":status", "503") }, "status 503"},
		"no status": {func(s *script, id uint32) { s.answer(id, "server", "x") }, "no status"},
		"go away":   {func(s *script, _ uint32) { _ = s.WriteGoAway(0, h2.ErrCodeEnhanceYourCalm, []byte("slow down")) }, `gave the connection up: ENHANCE_YOUR_CALM "slow down"`},
		"end":       {func(s *script, _ uint32) { s.Close() }, "the server closed the connection"},
		"unasked":   {func(s *script, _ uint32) { s.answer(999, ":status", "200") }, "stream 999"},
		"push":      {func(s *script, id uint32) { _ = s.WritePushPromise(h2.PushPromiseParam{StreamID: id, PromiseID: 2}) }, "pushes"},
		"window": {func(s *script, id uint32) {
			_ = s.WriteWindowUpdate(id, 1<<31-1)
		}, "WINDOW_UPDATE of a wrong size"},
		"long frame": {func(s *script, id uint32) { _ = s.WriteRawFrame(h2.FrameData, 0, id, make([]byte, 20<<10)) }, "longer than allowed"},
		"header in a header": {func(s *script, id uint32) {
			_ = s.WriteHeaders(h2.HeadersFrameParam{StreamID: id, BlockFragment: s.header(":status", "200")})
			_ = s.WritePing(false, [8]byte{})
		}, "within a header"},
		"bad header": {func(s *script, id uint32) {
			_ = s.WriteHeaders(h2.HeadersFrameParam{StreamID: id, BlockFragment: []byte{0xff, 0xff}, EndHeaders: true})
		}, "decoding error"},
	} {
		t.Run(name, func(t *testing.T) {
			u := scripted(t, func(s *script, _ int) {
				_ = s.WriteSettings()
				for id, _ := s.request(); id != 0; id, _ = s.request() {
					test.play(s, id)
				}
			})
			wantOnly(t, sent(t, u, 2, 1, nil), 2, test.want)
		})
	}
}

// Answers in the forms that HTTP/2 allows: early hints, CONTINUATION, padding, trailers, and tables
// of another size, in which the same octets mean another field later.
func TestHTTP2Answers(t *testing.T) {
	t.Parallel()
	u := scripted(t, func(s *script, _ int) {
		_ = s.WriteSettings(h2.Setting{ID: h2.SettingHeaderTableSize, Val: 0}, h2.Setting{ID: h2.SettingMaxConcurrentStreams, Val: 1})
		_ = s.WritePing(false, [8]byte{1})
		for n := 0; ; n++ {
			id, _ := s.request()
			if id == 0 {
				return
			}
			_ = s.WriteHeaders(h2.HeadersFrameParam{StreamID: id, BlockFragment: s.header(":status", "103"), EndHeaders: true})
			block := s.header(":status", "200", "x-counter", fmt.Sprint(n/3))
			_ = s.WriteHeaders(h2.HeadersFrameParam{StreamID: id, BlockFragment: block[:1], PadLength: 9})
			_ = s.WriteContinuation(id, true, block[1:])
			_ = s.WriteDataPadded(id, false, []byte("hello"), make([]byte, 7))
			_ = s.WriteRawFrame(0x77, 0xff, id, []byte("an extension"))
			s.answer(id, "x-checksum", "7")
		}
	})
	wantOnly(t, sent(t, u, 20, 8, nil), 0, "")
}

// A body is sent as the windows of its stream and its connection allow, some octets at a time.
func TestHTTP2Windows(t *testing.T) {
	t.Parallel()
	body := bytes.Repeat([]byte("0123456789"), 7000) // more than a connection's first window
	var got atomic.Int64
	u := scripted(t, func(s *script, _ int) {
		s.SetMaxReadFrameSize(1 << 20)
		_ = s.WriteSettings(h2.Setting{ID: h2.SettingInitialWindowSize, Val: 10})
		whole := map[uint32][]byte{}
		for {
			f, err := s.ReadFrame()
			if err != nil {
				return
			}
			d, ok := f.(*h2.DataFrame)
			if !ok {
				continue
			}
			id := d.StreamID
			if whole[id] = append(whole[id], d.Data()...); d.StreamEnded() {
				if !bytes.Equal(whole[id], body) {
					t.Errorf("the body came as %d octets", len(whole[id]))
				}
				got.Add(1)
				s.answer(id, ":status", "200")
				continue
			}
			if n := len(d.Data()); n > 0 {
				_ = s.WriteWindowUpdate(id, uint32(max(n, 9000)))
				_ = s.WriteWindowUpdate(0, uint32(n))
			}
		}
	})
	wantOnly(t, sent(t, u, 4, 2, func(t *Target) { t.Request.Method, t.Request.Body = http.MethodPost, body }), 0, "")
	if got.Load() != 4 {
		t.Errorf("%d bodies came", got.Load())
	}
}

// Large bodies both ways, against net/http.
func TestHTTP2Large(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n, err := io.Copy(w, r.Body); err != nil || n != 3<<20 || r.ProtoMajor != 2 {
			t.Errorf("%s: %d bytes, %v", r.Proto, n, err)
		}
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	defer server.Close()
	u := parsed(t, server.URL)
	r := sent(t, u, 20, 4, func(t *Target) { t.Request.Method, t.Request.Body = http.MethodPost, make([]byte, 3<<20) })
	wantOnly(t, r, 0, "")
}

// A server that speaks HTTP/1.1 is recognised by its answer.
func TestHTTP2AgainstHTTP1(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	u := parsed(t, server.URL)
	wantOnly(t, sent(t, u, 2, 1, nil), 2, "does not speak HTTP/2")
}

// A server that hangs up at once is asked again and again, and the failures are counted.
func TestHTTP2HangsUp(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	u := scripted(t, func(s *script, _ int) {
		if n.Add(1)%10 == 0 {
			_ = s.WriteSettings()
			for id, _ := s.request(); id != 0; id, _ = s.request() {
				s.answer(id, ":status", "204")
			}
		}
	})
	r := sent(t, u, 300, 3, nil)
	if r.Failed() == r.Done {
		t.Errorf("%d of %d failed: %v", r.Failed(), r.Done, r.Errors)
	}
	if n.Load() > 2*r.Done {
		t.Errorf("%d connections were made for %d requests", n.Load(), r.Done)
	}
}

// Stream numbers run out. The requests then go over another connection.
func TestHTTP2StreamsRunOut(t *testing.T) {
	t.Parallel()
	var connections atomic.Int64
	u := scripted(t, func(s *script, _ int) {
		connections.Add(1)
		_ = s.WriteSettings()
		for id, _ := s.request(); id != 0; id, _ = s.request() {
			s.answer(id, ":status", "200")
		}
	})
	pool := opened(t, &Target{Proto: "http2", Conns: 1, Streams: 2, Request: Request{URL: u}})
	if err := once(pool); err != nil {
		t.Fatal(err)
	}
	l := http2Line(pool.Lines[0])
	l.conn.next = lastStream - 3
	r, err := Run(t.Context(), Plan{Pacer: Constant{1000, 20 * time.Millisecond}, Lines: pool.Lines})
	if err != nil || r.Done != 20 || r.Failed() != 0 {
		t.Errorf("%v, %d requests, failures %v", err, r.Done, r.Errors)
	}
	if connections.Load() != 2 {
		t.Errorf("%d connections, want 2", connections.Load())
	}
}

func TestRefusedConnection(t *testing.T) {
	t.Parallel()
	for _, proto := range []string{"http1", "http2"} {
		r := sent(t, &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, 3, 1, func(t *Target) { t.Proto = proto })
		wantOnly(t, r, 3, "connection refused")
	}
}

// The number of streams under way is a guess until the server's SETTINGS come, and unlimited then
// unless they say otherwise: RFC 9113 section 6.5.2.
func TestHTTP2StreamLimit(t *testing.T) {
	t.Parallel()
	l := loose(t, 500, new(Target).succeeded, http2Request{})
	c := newHTTP2Conn(l, discard{})
	for range 100 {
		c.start(attempt{}, time.Now())
	}
	if c.most() != 100 {
		t.Errorf("%d streams before SETTINGS, want 100", c.most())
	}
	now := time.Now()
	for _, test := range []struct {
		settings []h2.Setting
		want     int
	}{
		{nil, 500},
		{[]h2.Setting{{ID: h2.SettingMaxConcurrentStreams, Val: 250}}, 250},
		{[]h2.Setting{{ID: h2.SettingInitialWindowSize, Val: 7}}, 250},
	} {
		var b bytes.Buffer
		if err := h2.NewFramer(&b, nil).WriteSettings(test.settings...); err != nil {
			t.Fatal(err)
		}
		_, err := c.take(b.Bytes(), now)
		if c.settle(now, err); err != nil || c.most() != test.want {
			t.Errorf("%d streams after %v, %v, want %d", c.most(), test.settings, err, test.want)
		}
	}
	if l.loop.free.first() == nil {
		t.Error("there is no room again")
	}
}

func TestGRPCAnswers(t *testing.T) {
	t.Parallel()
	message := []byte{0, 0, 0, 0, 2, 8, 1}
	for name, test := range map[string]struct {
		head, trailer []string
		body          []byte
		want          string
	}{
		"good":          {[]string{":status", "200", "content-type", "application/grpc"}, []string{"grpc-status", "0"}, message, ""},
		"failed":        {[]string{":status", "200", "content-type", "application/grpc", "grpc-status", "5", "grpc-message", "no%20such"}, nil, nil, "NotFound: no such"},
		"late failure":  {[]string{":status", "200", "content-type", "application/grpc+proto"}, []string{"grpc-status", "14"}, message, "Unavailable"},
		"no status":     {[]string{":status", "200", "content-type", "application/grpc"}, []string{"x", "y"}, message, "no grpc-status"},
		"a web page":    {[]string{":status", "200", "content-type", "text/html"}, []string{"grpc-status", "0"}, message, "not gRPC"},
		"HTTP's status": {[]string{":status", "502"}, nil, nil, "status 502"},
		"cut short":     {[]string{":status", "200", "content-type", "application/grpc"}, []string{"grpc-status", "0"}, message[:6], "not exactly one"},
		"nothing":       {[]string{":status", "200", "content-type", "application/grpc"}, []string{"grpc-status", "0"}, nil, "not exactly one"},
	} {
		t.Run(name, func(t *testing.T) {
			u := scripted(t, func(s *script, _ int) {
				_ = s.WriteSettings()
				for id, _ := s.request(); id != 0; id, _ = s.request() {
					if test.trailer == nil {
						s.answer(id, test.head...)
						continue
					}
					_ = s.WriteHeaders(h2.HeadersFrameParam{StreamID: id, BlockFragment: s.header(test.head...), EndHeaders: true})
					for _, b := range test.body { // in pieces
						_ = s.WriteData(id, false, []byte{b})
					}
					s.answer(id, test.trailer...)
				}
			})
			r := sent(t, u, 2, 1, func(target *Target) {
				target.Proto, target.RPC, target.ProtoFile = "grpc", "postage.send.Greeter/Hello", "../internal/service/greeter/hello/hello.proto"
			})
			n := int64(2)
			if test.want == "" {
				n = 0
			}
			wantOnly(t, r, n, test.want)
		})
	}
}

func TestHeadersThatDoNotFit(t *testing.T) {
	t.Parallel()
	u := &url.URL{Scheme: "http", Host: "127.0.0.1:1"}
	for _, test := range []struct{ proto, name, value, want string }{
		{"http2", "Connection", "close", "not allowed in HTTP/2"},
		{"http1", "Connection", "close", ""},
		{"http1", "Content-Length", "3", "made from the body"},
		{"http1", "X-A", "b\r\nc: d", "more than one line"},
		{"http1", "X A", "b", "not the name"},
	} {
		pool, err := Open(t.Context(), &Target{Proto: test.proto, Conns: 1, Streams: 1, Request: Request{URL: u, Header: http.Header{test.name: {test.value}}}})
		if test.want == "" && err == nil {
			err = pool.Close()
		}
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

// Whatever a server sends, taking it ends and does not panic.
func FuzzHTTP2(f *testing.F) {
	add := func(write func(*h2.Framer)) {
		var b bytes.Buffer
		framer := h2.NewFramer(&b, nil)
		_ = framer.WriteSettings()
		write(framer)
		f.Add(b.Bytes())
	}
	add(func(f *h2.Framer) {
		_ = f.WriteHeaders(h2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x88}, EndHeaders: true})
		_ = f.WriteDataPadded(1, true, []byte("x"), make([]byte, 3))
	})
	add(func(f *h2.Framer) { _ = f.WriteGoAway(1, h2.ErrCodeNo, nil); _ = f.WriteRSTStream(3, h2.ErrCodeCancel) })
	add(func(f *h2.Framer) {
		_ = f.WriteSettings(h2.Setting{ID: h2.SettingInitialWindowSize, Val: 3}, h2.Setting{ID: h2.SettingHeaderTableSize})
		_ = f.WriteWindowUpdate(0, 9)
		_ = f.WritePing(false, [8]byte{})
		_ = f.WriteHeaders(h2.HeadersFrameParam{StreamID: 3, BlockFragment: []byte{0x88}})
		_ = f.WriteContinuation(3, true, []byte{0x88})
	})
	f.Add([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l := loose(t, 4, replied, http2Request{[]hpack.HeaderField{{Name: ":method", Value: "GET"}}, []byte("body")})
		c := newHTTP2Conn(l, discard{})
		l.conn = c
		for range 3 {
			c.start(attempt{}, time.Now())
		}
		for {
			frame, whole, err := cutFrame(data)
			if err != nil || !whole {
				return
			}
			if c.frame(frame, time.Time{}) != nil {
				return
			}
			data = data[len(frame):]
			if l.active < 0 || l.active != len(c.streams) {
				t.Fatalf("%d requests are under way on %d streams", l.active, len(c.streams))
			}
		}
	})
}
