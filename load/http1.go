package load

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"
)

// http1 sends requests, made once, over a connection of its own, again and again. It
// reads no more of the answer than where it ends, which costs a fraction of what a
// general client does.
type http1 struct {
	dial func(ctx context.Context) (net.Conn, error)
	take func() http1Request
	http1Request
	conn net.Conn
	in   *bufio.Reader
	idle time.Time // when the last answer was whole
	// A request that takes longer than timeout, if that is not 0, fails by late.
	timeout time.Duration
	late    error
	limit   *limit
	// The connection is interrupted when this context ends.
	ctx     context.Context
	unwatch func()
}

// http1Request is a request as it is sent.
type http1Request struct {
	request []byte
	head    bool // the answer has no body, whatever its header says
	again   bool // the request may be sent twice: RFC 9110 section 9.2.2
}

func newHTTP1Request(r *Request) http1Request {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", r.Method, r.URL.RequestURI(), r.host())
	if len(r.Body) > 0 || r.Method == http.MethodPost || r.Method == http.MethodPut {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(r.Body))
	}
	_ = r.Header.WriteSubset(&b, map[string]bool{"Host": true})
	b.WriteString("\r\n")
	b.Write(r.Body)
	again := false
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		again = true
	}
	return http1Request{b.Bytes(), r.Method == http.MethodHead, again}
}

// Connect makes the connection.
func (h *http1) Connect(ctx context.Context) error {
	if h.conn != nil {
		return nil
	}
	conn, err := h.dial(ctx)
	if err != nil {
		return err
	}
	h.conn, h.in, h.idle = conn, bufio.NewReaderSize(conn, 8<<10), time.Now()
	return nil
}

// quiet is for how long a connection is idle before it is looked at whether it still
// stands. That is a system call, which connections in use are spared.
const quiet = time.Millisecond

// Send sends the request and reads the answer.
func (h *http1) Send(ctx context.Context) (status int, err error) {
	h.http1Request = h.take()
	kept := h.conn != nil
	if kept && h.ctx != ctx {
		if err := h.watch(ctx); err != nil {
			return 0, err
		}
	}
	if kept && time.Since(h.idle) > quiet && h.ended() {
		_ = h.Close()
		kept = false
	}
	status, err = h.send(ctx)
	// The server may have closed a connection that nobody used: RFC 9112 section 9.3.1.
	if kept && ctx.Err() == nil && (errors.Is(err, errUnsent) || h.again && errors.Is(err, errGone)) {
		status, err = h.send(ctx)
	}
	return status, err
}

// ended says whether the server has ended the connection, on which nothing is under way.
// What it sends then, such as a 408, is no answer to the next request either.
func (h *http1) ended() bool {
	if h.in.Buffered() > 0 {
		return true
	}
	conn, secure := h.conn, false
	if c, ok := conn.(*tls.Conn); ok {
		conn, secure = c.NetConn(), true
	}
	c, ok := conn.(*net.TCPConn)
	if !ok {
		return false
	}
	data, end := pending(c)
	if end || !data || !secure {
		return end || data
	}
	// With TLS it may be a ticket for a later session, or the alert that is its end.
	if h.conn.SetReadDeadline(time.Now().Add(time.Millisecond)) != nil {
		return true
	}
	_, err := h.in.Peek(1)
	var timeout net.Error
	return !errors.As(err, &timeout) || !timeout.Timeout() || h.conn.SetReadDeadline(time.Time{}) != nil || h.ctx.Err() != nil
}

func (h *http1) send(ctx context.Context) (status int, err error) {
	if err := h.Connect(ctx); err != nil {
		return 0, err
	}
	if h.ctx != ctx {
		if err := h.watch(ctx); err != nil {
			return 0, err
		}
	}
	if h.timeout > 0 && h.limit == nil {
		h.limit = newLimit(h.conn, h.timeout)
	}
	h.limit.begin()
	status, keep, err := h.roundTrip()
	if h.limit.passed() {
		keep = false
		if err != nil {
			err = h.late
		}
	}
	h.idle = time.Now()
	if err != nil || !keep {
		_ = h.Close()
	}
	if err != nil {
		return 0, err
	}
	if status < 200 || status > 299 {
		return status, fmt.Errorf("status %d", status)
	}
	return status, nil
}

// watch has the connection interrupted when ctx ends. It is done once a run and not once
// a request.
func (h *http1) watch(ctx context.Context) error {
	if h.unwatch != nil {
		h.unwatch()
	}
	conn, done := h.conn, make(chan struct{})
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		_ = conn.SetDeadline(time.Unix(1, 0))
	})
	h.ctx, h.unwatch = ctx, func() {
		if !stop() {
			<-done
		}
	}
	return nil
}

// Close ends the connection.
func (h *http1) Close() error {
	if h.conn == nil {
		return nil
	}
	if h.unwatch != nil {
		h.unwatch()
		h.ctx, h.unwatch = nil, nil
	}
	h.limit.stop()
	h.limit = nil
	err := h.conn.Close()
	h.conn = nil
	return err
}

var (
	errAnswer = errors.New("the answer is no HTTP/1.1")
	// errGone is a connection that ended before the answer did, and errUnsent one on which
	// nothing of the request was written.
	errGone   = errors.New("the server closed the connection")
	errUnsent = fmt.Errorf("%w", errGone)
)

// writeAtOnce is how much of a request fits into any socket's buffers. A longer one is written
// while the answer is read: a server may send it back as it reads.
const writeAtOnce = 32 << 10

func (h *http1) roundTrip() (status int, keep bool, err error) {
	if len(h.request) <= writeAtOnce {
		n, cut := h.conn.Write(h.request)
		switch {
		case cut == nil:
		case !gone(cut):
			return 0, false, cut
		case n == 0:
			return 0, false, errUnsent
		}
		return h.answer(cut == nil)
	}
	written := make(chan error, 1)
	go func() {
		_, err := h.conn.Write(h.request)
		written <- err
	}()
	status, keep, err = h.answer(true)
	// The answer may come first, and be the last that the server takes.
	if e := h.conn.SetWriteDeadline(time.Now().Add(50 * time.Millisecond)); err != nil || !keep || e != nil {
		_ = h.conn.Close()
	}
	if cut := <-written; cut != nil {
		keep = false
		if err != nil && !gone(cut) && !errors.Is(cut, net.ErrClosed) {
			err = cut
		}
	}
	return status, keep, errors.Join(err)
}

// answer reads the answer to a request, all of which was written or not.
func (h *http1) answer(written bool) (status int, keep bool, err error) {
	// If the connection was cut there may be an answer all the same, such as 413.
	if _, err := h.in.Peek(1); err != nil {
		if gone(err) {
			err = errGone
		}
		return 0, false, err
	}
	for {
		var length int64
		status, length, keep, err = h.header()
		if err != nil {
			return 0, false, err
		}
		keep = keep && written
		switch {
		case status == http.StatusSwitchingProtocols:
			return status, false, nil
		case status >= 100 && status < 200:
			continue
		case h.head || status == http.StatusNoContent || status == http.StatusNotModified:
			return status, keep, nil
		case length == chunked:
			return status, keep, h.chunks()
		case length == untilEnd:
			_, err := io.Copy(io.Discard, h.in)
			return status, false, err
		}
		_, err = h.in.Discard(int(length))
		return status, keep, err
	}
}

// How long a body is, if not by Content-Length.
const (
	untilEnd = -1
	chunked  = -2
)

// gone says whether an error is the connection's end.
func gone(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}

// header reads the status line and the header.
func (h *http1) header() (status int, length int64, keep bool, err error) {
	line, err := h.line()
	if err != nil {
		return 0, 0, false, err
	}
	if len(line) < 12 || string(line[:7]) != "HTTP/1." {
		return 0, 0, false, errAnswer
	}
	keep = line[7] == '1'
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, 0, false, errAnswer
	}
	length = untilEnd
	closes := false
	for {
		if line, err = h.line(); err != nil {
			return 0, 0, false, err
		}
		if len(line) == 0 {
			return status, length, keep && !closes, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case len(name) == 14 && bytes.EqualFold(name, []byte("Content-Length")):
			n, err := strconv.ParseInt(string(value), 10, 64)
			if err != nil || n < 0 {
				return 0, 0, false, errAnswer
			}
			if length != chunked { // which overrides it: RFC 9112 section 6.3
				length = n
			}
		case len(name) == 17 && bytes.EqualFold(name, []byte("Transfer-Encoding")):
			length = chunked
		case len(name) == 10 && bytes.EqualFold(name, []byte("Connection")):
			for option := range bytes.SplitSeq(value, []byte(",")) {
				option = bytes.TrimSpace(option)
				closes = closes || bytes.EqualFold(option, []byte("close"))
				keep = keep || bytes.EqualFold(option, []byte("keep-alive"))
			}
		}
	}
}

// chunks reads a body in chunks, and the trailer.
func (h *http1) chunks() error {
	for {
		line, err := h.line()
		if err != nil {
			return err
		}
		size, _, _ := bytes.Cut(line, []byte(";"))
		n, err := strconv.ParseUint(string(bytes.TrimSpace(size)), 16, 31)
		if err != nil {
			return errAnswer
		}
		if n == 0 {
			for {
				if line, err = h.line(); err != nil || len(line) == 0 {
					return err
				}
			}
		}
		if _, err := h.in.Discard(int(n) + 2); err != nil {
			return err
		}
	}
}

// longestLine is how long a line of a header may be.
const longestLine = 1 << 20

// line reads a line without its end. It is good until the next read.
func (h *http1) line() ([]byte, error) {
	line, err := h.in.ReadSlice('\n')
	for errors.Is(err, bufio.ErrBufferFull) {
		var more []byte
		line = bytes.Clone(line)
		more, err = h.in.ReadSlice('\n')
		if line = append(line, more...); len(line) > longestLine {
			return nil, fmt.Errorf("a line of the answer's header is longer than %d MB", longestLine>>20)
		}
	}
	if err != nil {
		if errors.Is(err, io.EOF) && len(line) > 0 {
			return nil, io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return bytes.TrimRight(line, "\r\n"), nil
}
