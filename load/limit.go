package load

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// A limit gives up requests that take too long on a connection with one request at a time. It
// checks at intervals: setting a timer for each request would cost more than parsing the answer. A
// nil limit does nothing.
type limit struct {
	conn    net.Conn
	timeout time.Duration
	began   atomic.Int64 // when the request was sent, since epoch; 0 if none is under way, expired if it was given up

	mu    sync.Mutex
	timer *time.Timer // nil when it was stopped
}

// epoch is the origin for times that have to be stored as numbers.
var epoch = time.Now()

// expired is a request that was given up.
const expired = -1

func newLimit(conn net.Conn, timeout time.Duration) *limit {
	l := &limit{conn: conn, timeout: timeout}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = time.AfterFunc(timeout, l.look)
	return l
}

// begin is to be called before a request is sent, and passed after its answer.
func (l *limit) begin() {
	if l != nil {
		l.began.Store(max(1, int64(time.Since(epoch))))
	}
}

// passed reports whether the request was given up.
func (l *limit) passed() bool { return l != nil && l.began.Swap(0) == expired }

// look gives up the request if it has been under way for longer than allowed.
func (l *limit) look() {
	left := l.timeout
	if began := l.began.Load(); began > 0 {
		left -= time.Since(epoch) - time.Duration(began)
		if left <= 0 && l.began.CompareAndSwap(began, expired) {
			_ = l.conn.SetDeadline(time.Unix(1, 0))
			return
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Reset(max(left, time.Millisecond))
	}
}

func (l *limit) stop() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer.Stop()
	l.timer = nil
}
