package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// An http1Lane is a connection of HTTP/1.1 and its request. Requests are encoded once, and it looks
// only for the end of an answer. That costs a fraction of a general client's time.
type http1Lane struct {
	laneState
	socket   *socket
	requests *http1Requests
	busy     bool // it has a request
	kept     bool // the connection was there before the request
	cut      bool // the server took no more of the request
	request  http1Request
	timing   timing
	idle     time.Time // since when it has had no request
	answer   http1Answer
}

// http1Requests are what the lanes of a target send.
type http1Requests struct {
	take         func() http1Request
	unsuccessful func(status int) error
	late         error
}

type http1Request struct {
	request []byte
	head    bool // the answer has no body, whatever its header says
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
	return http1Request{b.Bytes(), r.Method == http.MethodHead}
}

func openHTTP1(_ context.Context, t *Target, p *Pool) error {
	var all []http1Request
	for i := range t.Requests {
		all = append(all, newHTTP1Request(&t.Requests[i]))
	}
	requests := &http1Requests{inTurn(all), t.unsuccessful, t.late("answer")}
	return openLoops(t, p, t.dial("http/1.1"), func(l *loop) lane {
		c := &http1Lane{requests: requests}
		c.socket = l.socket(c)
		return c
	})
}

func (c *http1Lane) connected() bool { return c.socket.wire != nil }
func (c *http1Lane) room() bool      { return !c.busy }
func (c *http1Lane) working() bool   { return c.busy }
func (c *http1Lane) close()          { c.socket.drop() }

func (c *http1Lane) adopt(conn net.Conn, now time.Time) error {
	c.idle = now
	return c.socket.open(conn)
}

// quiet is how long a connection may be idle before it is read to see whether it is still open.
// Busy connections are spared this system call.
const quiet = time.Millisecond

func (c *http1Lane) begin(t timing) {
	now := t.sent
	if c.socket.wire != nil && now.Sub(c.idle) > quiet {
		// The loop's event for the end may come after the request was written, and lost.
		if _, err := c.socket.receive(); err != nil {
			c.socket.drop()
		}
	}
	c.busy, c.timing, c.request = true, t, c.requests.take()
	c.kept = c.socket.wire != nil
	c.start(now)
}

// start sends a request, over a new connection if there is none.
func (c *http1Lane) start(now time.Time) {
	c.answer.reset(c.request.head)
	c.cut = false
	c.timing.sent = now
	if c.socket.wire == nil {
		c.socket.loop.connect(c)
	} else if err := c.socket.write(c.request.request); err != nil {
		c.settle(now, err)
	}
}

func (c *http1Lane) made(now time.Time, err error) {
	if err != nil {
		c.finish(now, 0, err)
		return
	}
	c.start(now)
}

func (c *http1Lane) take(in []byte, now time.Time) (left []byte, err error) {
	if !c.busy {
		return nil, errUnasked
	}
	if !c.answer.begun {
		c.timing.begins = now.Sub(c.timing.sent)
	}
	used, whole, err := c.answer.feed(in)
	if whole {
		c.answered(now, used == len(in))
	}
	return nil, err
}

// errUnasked is the end of a connection that answers, such as 408, while no request is under way.
var errUnasked = errors.New("the server sent what it was not asked for")

// answered ends a request whose answer is complete. If more than the answer has come, the connection
// is not used again.
func (c *http1Lane) answered(now time.Time, alone bool) {
	if !c.answer.keep || !alone || c.cut || !c.socket.drained() {
		c.socket.drop()
	}
	c.finish(now, c.answer.status, c.requests.unsuccessful(c.answer.status))
}

// settle handles the end of a connection. Its request is sent again only if the server cannot have
// received it.
func (c *http1Lane) settle(now time.Time, err error) {
	if err == nil {
		return
	}
	_, unwritten := errors.AsType[writeError](err)
	if unwritten && connectionEnded(err) && c.socket.written > 0 { // there may still be an answer, such as 413
		c.cut, c.socket.queue, c.socket.rest = true, nil, nil
		if err = c.socket.await(false); err == nil {
			return
		}
	}
	if c.busy && !unwritten && err != errUnasked {
		whole := false
		if whole, err = c.answer.end(err); whole {
			c.answered(now, false)
			return
		}
	}
	c.socket.drop()
	switch {
	case !c.busy:
	case c.kept && unwritten && connectionEnded(err) && c.socket.loop.making.ctx.Err() == nil:
		c.kept = false
		c.start(now)
	default:
		c.finish(now, 0, err)
	}
}

func (c *http1Lane) finish(now time.Time, status int, err error) {
	c.busy, c.idle = false, now
	c.socket.loop.free.add(c)
	c.socket.loop.done(c.timing, now, status, err)
}

func (c *http1Lane) expire(now time.Time) (next time.Time) {
	if !c.busy || c.socket.wire == nil { // making a connection has a limit of its own
		return time.Time{}
	}
	if next = c.timing.sent.Add(c.socket.loop.expiry.timeout); !next.After(now) {
		c.socket.drop()
		c.finish(now, 0, c.requests.late)
		return time.Time{}
	}
	return next
}

func (c *http1Lane) giveUp(now time.Time, why error) {
	if c.busy {
		c.socket.drop()
		c.finish(now, 0, why)
	}
}
