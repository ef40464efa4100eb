package load

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	h2 "golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// http2 sends requests, made once, over one connection of HTTP/2, as many times at
// once as there are streams. Two goroutines work: Serve takes requests and sends them,
// and the connection's reader takes the answers. All that one reading brought is dealt
// with, requests that are sent in its place included, before anything is written, and
// that is then written at once: with many streams there are many answers and requests
// to a system call.
type http2 struct {
	dial     func(ctx context.Context) (net.Conn, error)
	requests []http2Request
	pick     func() int                              // the next of them
	verdict  func(s *stream) (status int, err error) // an answer's status, and whether it is a success
	room     int                                     // streams at a time
	timeout  time.Duration                           // a request that takes longer, if it is not 0,
	late     error                                   // fails by this

	mu      sync.Mutex
	changed sync.Cond  // a stream ended, or a connection
	conn    *http2Conn // for new requests, nil if there is none
	open    map[*http2Conn]bool
	readers sync.WaitGroup

	work     *Work       // nil between runs
	limit    *time.Timer // looks for requests that take too long
	active   int         // requests under way
	reserved int         // room that Serve has taken, but not yet a request: 0 or 1
	// freed is when there was last room again after there was none.
	freed time.Time
	// failedEarly is why the last connection ended, if it did so at once and without a
	// request. The next one is charged with it, or connections would be made without end.
	failedEarly error
	// again are requests that a connection took and the server did not.
	again []repeat
}

// An http2Request is a request as it is sent.
type http2Request struct {
	fields []hpack.HeaderField
	body   []byte
}

// A repeat is a request to be sent, and maybe again.
type repeat struct {
	due     time.Time
	request int // its number
	refused int // how often the server refused its stream
}

// mostRefused is how often a refused stream is sent again.
const mostRefused = 3

// newHTTP2 makes a line.
func newHTTP2(requests []http2Request, pick func() int, room int, verdict func(*stream) (int, error), dial func(context.Context) (net.Conn, error)) *http2 {
	l := &http2{dial: dial, requests: requests, pick: pick, verdict: verdict, room: room, open: map[*http2Conn]bool{}}
	l.changed.L = &l.mu
	return l
}

// Serve is a run's sender.
func (l *http2) Serve(ctx context.Context, w *Work) {
	stop := context.AfterFunc(ctx, l.interrupt)
	defer stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timeout > 0 {
		limit := time.AfterFunc(l.timeout, l.expire)
		l.limit = limit
		defer func() {
			limit.Stop()
			l.limit = nil
		}()
	}
	l.work, l.freed = w, time.Now()
	defer func() { l.work, l.again = nil, nil }()
	for ctx.Err() == nil {
		more := true
		switch {
		case l.conn == nil:
			err := l.failedEarly
			l.failedEarly = nil
			if err == nil {
				err = l.connect(ctx)
			}
			if err != nil {
				more = l.fail(w, err)
			} // or it may be gone already
		case l.active >= l.conn.most():
			l.changed.Wait()
		default:
			more = l.take(w)
		}
		if more {
			continue
		}
		// What is under way may have to be sent again.
		for l.active > 0 && len(l.again) == 0 && ctx.Err() == nil {
			l.changed.Wait()
		}
		if l.active == 0 && len(l.again) == 0 {
			return
		}
	}
	for l.active > 0 { // the reader is told of the end by the connection's
		l.changed.Wait()
	}
	for _, r := range l.again {
		w.Done(r.due, time.Now(), 0, ctx.Err())
	}
}

// Connect makes the connection.
func (l *http2) Connect(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		return nil
	}
	return l.connect(ctx)
}

// expire gives up the requests that take longer than allowed, and a connection on which
// nothing else is under way and nothing has come meanwhile.
func (l *http2) expire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.limit == nil {
		return
	}
	now := time.Now()
	next := l.timeout
	for c := range l.open {
		heard := false
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
		c.fill(now)
		c.flushApart()
	}
	l.limit.Reset(max(next, time.Millisecond))
	l.changed.Broadcast()
}

// take waits for a request and sends it, with what else there is to send.
func (l *http2) take(w *Work) (more bool) {
	r, ok := l.repeated()
	if !ok {
		l.reserved++
		freed := l.freed
		l.mu.Unlock()
		r.due, ok = w.Take(freed)
		l.mu.Lock()
		l.reserved--
		if !ok {
			return false
		}
		r.request = l.pick()
	}
	if l.conn == nil {
		l.again = append(l.again, r)
		return true
	}
	c, now := l.conn, time.Now()
	c.start(r, now)
	c.fill(now)
	c.flush()
	return true
}

// repeated is a request that is to be sent again, if there is one.
func (l *http2) repeated() (r repeat, ok bool) {
	if len(l.again) == 0 {
		return r, false
	}
	r, l.again = l.again[0], l.again[1:]
	return r, true
}

// fail has the next request fail for want of a connection.
func (l *http2) fail(w *Work, err error) (more bool) {
	r, ok := l.repeated()
	if !ok {
		l.mu.Unlock()
		r.due, ok = w.Take(time.Now())
		l.mu.Lock()
	}
	if ok {
		w.Done(r.due, time.Now(), 0, err)
	}
	return ok
}

// connect makes a connection and starts its reader.
func (l *http2) connect(ctx context.Context) error {
	l.mu.Unlock()
	conn, err := l.dial(ctx)
	l.mu.Lock()
	if err != nil {
		return err
	}
	if ctx.Err() != nil { // interrupt has come and gone
		return errors.Join(ctx.Err(), conn.Close())
	}
	c := newHTTP2Conn(l, conn)
	l.conn, l.open[c] = c, true
	l.freed = time.Now() // what it took to connect is not the generator's fault
	l.readers.Go(c.read)
	c.flush()
	return nil
}

// interrupt ends the connection, and with it what is under way.
func (l *http2) interrupt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		c.close()
	}
	l.changed.Broadcast()
}

// Close ends the connection.
func (l *http2) Close() error {
	l.mu.Lock()
	for c := range l.open {
		c.close()
	}
	l.mu.Unlock()
	l.readers.Wait()
	return nil
}
