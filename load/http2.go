package load

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"golang.org/x/net/http2/hpack"
)

// http2 sends requests, each encoded once, over one HTTP/2 connection, as many at a time as there
// are streams. It has two goroutines: Serve takes requests and sends them, and the connection's
// reader takes the answers. The reader handles everything that one read brought, and adds the
// requests that take the place of answered ones, before it writes anything. With many streams, one
// system call then carries many answers or requests.
type http2 struct {
	dial     func(ctx context.Context) (net.Conn, error)
	requests []http2Request
	pick     func() int                              // chooses the next of them
	verdict  func(s *stream) (status int, err error) // an answer's status, and why it is not a success
	room     int                                     // streams at a time
	timeout  time.Duration                           // a request that takes longer fails with late; 0 is no limit
	late     error

	mu      sync.Mutex
	changed sync.Cond  // a stream or a connection ended
	conn    *http2Conn // for new requests, nil if there is none
	open    map[*http2Conn]bool
	readers sync.WaitGroup

	work     *Work       // nil between runs
	limit    *time.Timer // looks for requests that take too long
	active   int         // requests under way
	reserved int         // room that Serve has taken, but not yet a request: 0 or 1
	// freed is when there last was room again after there had been none.
	freed time.Time
	// failedEarly is why the last connection ended, if it ended at once and before it had a
	// request. The next request fails with it; otherwise connections would be made without end.
	failedEarly error
	// again are requests that a connection sent and the server did not process.
	again []repeat
}

// An http2Request is a request in the form in which it is sent.
type http2Request struct {
	fields []hpack.HeaderField
	body   []byte
	group  int
}

// A repeat is a request that is to be sent, perhaps not for the first time.
type repeat struct {
	due     time.Time
	request int // its index in requests
	refused int // how often the server refused its stream
}

// mostRefused is how often a request is sent again because its stream was refused.
const mostRefused = 3

// newHTTP2 makes a line.
func newHTTP2(requests []http2Request, pick func() int, room int, verdict func(*stream) (int, error), dial func(context.Context) (net.Conn, error)) *http2 {
	l := &http2{dial: dial, requests: requests, pick: pick, verdict: verdict, room: room, open: map[*http2Conn]bool{}}
	l.changed.L = &l.mu
	return l
}

// Serve sends a run's requests.
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
			} // or the connection may be gone already
		case l.active >= l.conn.most():
			l.changed.Wait()
		default:
			more = l.take(w)
		}
		if more {
			continue
		}
		// Requests under way may have to be sent again.
		for l.active > 0 && len(l.again) == 0 && ctx.Err() == nil {
			l.changed.Wait()
		}
		if l.active == 0 && len(l.again) == 0 {
			return
		}
	}
	for l.active > 0 { // the connection's end tells the reader
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

// expire gives up requests that take longer than allowed.
func (l *http2) expire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.limit == nil {
		return
	}
	now := time.Now()
	next := l.timeout
	for c := range l.open {
		next = min(next, c.expire(now))
		c.fill(now)
		c.flushApart()
	}
	l.limit.Reset(max(next, time.Millisecond))
	l.changed.Broadcast()
}

// take waits for a request and sends it, with whatever else is waiting to be sent.
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

// repeated returns a request that is to be sent again, if there is one.
func (l *http2) repeated() (r repeat, ok bool) {
	if len(l.again) == 0 {
		return r, false
	}
	r, l.again = l.again[0], l.again[1:]
	return r, true
}

// fail has the next request fail because no connection could be made.
func (l *http2) fail(w *Work, err error) (more bool) {
	r, ok := l.repeated()
	if !ok {
		l.mu.Unlock()
		r.due, ok = w.Take(time.Now())
		l.mu.Lock()
		r.request = l.pick()
	}
	if ok {
		w.done(l.requests[r.request].group, r.due, time.Now(), 0, err)
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
	if ctx.Err() != nil { // interrupt was called meanwhile
		return errors.Join(ctx.Err(), conn.Close())
	}
	c := newHTTP2Conn(l, conn)
	l.conn, l.open[c] = c, true
	l.freed = time.Now() // the time that connecting took is not the generator's fault
	l.readers.Go(func() { c.read(conn) })
	c.flush()
	return nil
}

// interrupt ends the connection and the requests under way.
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
