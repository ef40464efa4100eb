package load

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"time"
)

// http1 sends requests, each encoded once, again and again over a connection of its own. It only
// looks for the end of each answer, which costs a fraction of what a general client does.
type http1 struct {
	dial         func(ctx context.Context) (net.Conn, error)
	take         func() http1Request
	unsuccessful func(status int) error
	http1Request
	conn   net.Conn
	in     []byte // what the connection is read into
	answer http1Answer
	idle   time.Time // when the last answer was complete
	// A request that takes longer than timeout fails with the error late. 0 is no limit.
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
	group   int
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
	return http1Request{b.Bytes(), r.Method == http.MethodHead, r.group}
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
	if h.in == nil {
		h.in = make([]byte, 8<<10)
	}
	h.conn, h.idle = conn, time.Now()
	return nil
}

// quiet is how long a connection may be idle before a request checks that it is still open. The
// check is a system call, which busy connections are spared.
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
	// The server may have closed the idle connection. What was written and lost has failed.
	if kept && ctx.Err() == nil && errors.Is(err, errUnsent) {
		status, err = h.send(ctx)
	}
	return status, err
}

// ended reports whether the server has ended the connection, on which no request is under way.
// Anything it sends then, such as a 408, does not answer the next request either.
func (h *http1) ended() bool {
	conn, secure := h.conn, false
	if c, ok := conn.(*tls.Conn); ok {
		conn, secure = c.NetConn(), true
	}
	c, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	data, end := pending(c)
	if end || !data || !secure {
		return end || data
	}
	// With TLS this may be a ticket for a later session, or the alert that ends the connection.
	if h.conn.SetReadDeadline(time.Now().Add(time.Millisecond)) != nil {
		return true
	}
	_, err := h.conn.Read(h.in[:1])
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
	return status, h.unsuccessful(status)
}

func (h *http1) target() int { return h.group }

// unsuccessful returns the failure that an answer's status means, nil for a success.
func (t *Target) unsuccessful(status int) error {
	if t.Expect != nil && !t.Expect(status) || t.Expect == nil && (status < 200 || status > 299) {
		return fmt.Errorf("status %d", status)
	}
	return nil
}

// watch has the connection interrupted when ctx ends. It is called once a run, not once a request.
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

// writeAtOnce is how many bytes of a request fit into any socket's buffers. A longer one is written
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
		return h.read(cut == nil)
	}
	written := make(chan error, 1)
	go func() {
		_, err := h.conn.Write(h.request)
		written <- err
	}()
	status, keep, err = h.read(true)
	// The answer may come first. The server may then read no more of the request.
	if e := h.conn.SetWriteDeadline(time.Now().Add(50 * time.Millisecond)); err != nil || !keep || e != nil {
		_ = h.conn.Close()
	}
	if cut := <-written; cut != nil {
		keep = false
		if err != nil && !gone(cut) && !errors.Is(cut, net.ErrClosed) {
			err = cut
		}
	}
	// The timeout of this request must not apply to the next.
	if keep && (h.conn.SetWriteDeadline(time.Time{}) != nil || h.ctx.Err() != nil) {
		keep = false
	}
	return status, keep, errors.Join(err)
}

// read reads the answer to a request that may not have been written whole. Even when the connection
// was cut, there may be an answer, such as 413.
func (h *http1) read(written bool) (status int, keep bool, err error) {
	h.answer.reset(h.head)
	for whole := false; !whole; {
		n, err := h.conn.Read(h.in)
		used := 0
		if n > 0 {
			var wrong error
			if used, whole, wrong = h.answer.feed(h.in[:n]); wrong != nil {
				return 0, false, wrong
			}
		}
		if err != nil && !whole {
			if whole, err = h.answer.end(err); err != nil {
				return 0, false, err
			}
		}
		// What follows the answer does not answer the next request.
		written = written && used == n && err == nil
	}
	return h.answer.status, h.answer.keep && written, nil
}
