package load

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// An http1Lane is a connection of a loop, and its request.
type http1Lane struct {
	laneState
	socket
	take    func() http1Request
	busy    bool
	kept    bool // the request was written on a connection that had been idle
	cut     bool // the server took no more of the request
	request http1Request
	rest    []byte // the part of the request that is not written yet
	due     time.Time
	sent    time.Time
	idle    time.Time // since when it has had no request
	answer  http1Answer
}

// openHTTP1Loops adds loops to the pool if they can serve the target.
func openHTTP1Loops(t *Target, p *Pool, take func() http1Request) (ok bool, err error) {
	if t.secure() || t.portable {
		return false, nil
	}
	return true, openLoops(t, p, t.dial("http/1.1"), func(l *loop) lane {
		c := &http1Lane{take: take}
		c.ready = c.handle
		l.add(&c.socket)
		return c
	})
}

func (c *http1Lane) connected() bool { return c.fd >= 0 }
func (c *http1Lane) room() bool      { return !c.busy }
func (c *http1Lane) close()          { c.drop() }

func (c *http1Lane) adopt(l link, now time.Time) error {
	c.idle = now
	return c.open(l.fd)
}

// begin sends a request.
func (c *http1Lane) begin(due, now time.Time) {
	c.loop.active++
	c.busy, c.due, c.request = true, due, c.take()
	if c.fd >= 0 && now.Sub(c.idle) > quiet && c.ended() {
		c.drop()
	}
	c.kept = c.fd >= 0
	c.start(now)
}

// ended reports whether the server has ended an idle connection. The loop gets an event for that
// too, but perhaps only after it has written a request, which is then lost.
func (c *http1Lane) ended() bool {
	_, errno := transfer(unix.SYS_RECVFROM, c.fd, c.loop.in[:1], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return errno != unix.EAGAIN && errno != unix.EINTR
}

// start sends a request, over a new connection if there is none.
func (c *http1Lane) start(now time.Time) {
	c.answer.reset(c.request.head)
	c.rest, c.cut, c.sent = c.request.request, false, now
	if c.fd >= 0 {
		c.write(now)
	} else {
		c.loop.connect(c)
	}
}

func (c *http1Lane) made(now time.Time, err error) {
	if err != nil {
		c.finish(now, 0, err)
		return
	}
	c.sent = now
	c.write(now)
}

// write writes as much of a request as the connection accepts.
func (c *http1Lane) write(now time.Time) {
	n, err := c.send(c.rest)
	c.rest = c.rest[n:]
	switch {
	case err == nil:
		return
	case !gone(err):
		c.fail(now, err)
	case len(c.rest) == len(c.request.request):
		c.fail(now, errUnsent)
	default: // there may still be an answer, such as 413
		c.cut, c.rest = true, nil
		if err := c.await(false); err != nil {
			c.fail(now, err)
		}
	}
}

// handle handles the events of a connection, and returns the current time.
func (c *http1Lane) handle(events uint32, now time.Time) time.Time {
	if !c.busy {
		c.drop() // the server has ended it, or sent something unasked
		return now
	}
	if events&unix.EPOLLOUT != 0 && c.waits {
		if c.write(now); c.fd < 0 {
			return now
		}
	}
	if events&^unix.EPOLLOUT == 0 {
		return now
	}
	in := c.loop.in
	n, err := c.receive(in)
	now = time.Now()
	used, whole := 0, false
	switch {
	case err == nil && n == 0:
		return now
	case err == nil:
		used, whole, err = c.answer.feed(in[:n])
	default:
		if whole, err = c.answer.end(err); whole {
			c.cut = true
		}
	}
	if err != nil {
		c.fail(now, err)
	} else if whole {
		// What follows the answer does not answer the next request.
		if !c.answer.keep || c.cut || used != n || len(c.rest) > 0 {
			c.drop()
		}
		c.finish(now, c.answer.status, c.loop.target.unsuccessful(c.answer.status))
	}
	return now
}

// fail ends a connection. Its request is sent again only if the server cannot have received it.
func (c *http1Lane) fail(now time.Time, err error) {
	c.drop()
	if c.kept && c.loop.ctx.Err() == nil && errors.Is(err, errUnsent) {
		c.kept = false
		c.start(now)
		return
	}
	c.finish(now, 0, err)
}

// finish ends a request.
func (c *http1Lane) finish(now time.Time, status int, err error) {
	c.busy, c.idle, c.rest = false, now, nil
	l := c.loop
	l.active--
	l.freeAgain(c, now)
	l.work.done(c.request.group, c.due, now, status, err)
}

func (c *http1Lane) expire(now time.Time) (next time.Time) {
	if !c.busy || c.fd < 0 { // making a connection has a limit of its own
		return time.Time{}
	}
	t := c.loop.target
	if next = c.sent.Add(t.Timeout); !next.After(now) {
		c.drop()
		c.finish(now, 0, t.late("answer"))
		return time.Time{}
	}
	return next
}

func (c *http1Lane) giveUp(now time.Time, why error) {
	if c.busy {
		c.drop()
		c.finish(now, 0, why)
	}
}
