package load

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// pipes is a poller for any system, and slow: each connection has a goroutine that reads.
type pipes struct {
	events  chan event
	woken   chan struct{}
	batch   []event
	readers sync.WaitGroup
}

func newPipes() *pipes {
	return &pipes{events: make(chan event, pollMost), woken: make(chan struct{}, 1)}
}

// close waits for the readers, whose connections have been closed.
func (p *pipes) close() { p.readers.Wait() }

func (p *pipes) wake() {
	select {
	case p.woken <- struct{}{}:
	default:
	}
}

func (p *pipes) poll(d time.Duration, _ bool) []event {
	p.batch = p.batch[:0]
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case e := <-p.events:
		p.batch = append(p.batch, e)
	case <-p.woken:
		p.batch = append(p.batch, event{number: -1})
	case <-timer.C:
	}
	for len(p.batch) < cap(p.events) {
		select {
		case e := <-p.events:
			p.batch = append(p.batch, e)
		default:
			return p.batch
		}
	}
	return p.batch
}

func (p *pipes) adopt(conn net.Conn, s *socket) (wire, error) {
	w := &pipe{Conn: conn, pipes: p, event: event{number: int32(s.number), opened: s.opened}, fresh: make(chan struct{}, 1), taken: make(chan struct{}, 1), closed: make(chan struct{})}
	p.readers.Go(w.readAll)
	return w, nil
}

// pipe is a connection whose goroutine reads a piece, and the next when that was taken.
type pipe struct {
	net.Conn
	pipes  *pipes
	event  event
	mu     sync.Mutex
	came   []byte
	err    error
	fresh  chan struct{} // has an element after something came
	taken  chan struct{}
	closed chan struct{}
	retry  *time.Timer // says that the connection may accept more; nil if nothing waits for that
}

// pieceMost is how much is read at once: less than what a socket has room for.
const pieceMost = 16 << 10

func (w *pipe) readAll() {
	in := make([]byte, pieceMost)
	for {
		n, err := w.Read(in)
		w.mu.Lock()
		w.came, w.err = in[:n], err
		w.mu.Unlock()
		select {
		case w.fresh <- struct{}{}:
		default:
		}
		e := w.event
		e.readable = true
		w.tell(e)
		if err != nil {
			return
		}
		select {
		case <-w.taken:
		case <-w.closed:
			return
		}
	}
}

func (w *pipe) tell(e event) {
	select {
	case w.pipes.events <- e:
	case <-w.closed:
	}
}

func (w *pipe) read(into []byte) (n int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for n = copy(into, w.came); n == 0 && w.err == nil && pending(w.Conn); n = copy(into, w.came) {
		w.mu.Unlock() // the goroutine that reads has not run yet
		<-w.fresh
		w.mu.Lock()
	}
	if n == 0 {
		return 0, w.err
	}
	if w.came = nil; w.err == nil {
		w.taken <- struct{}{}
	} else { // the end is told apart
		e := w.event
		e.readable = true
		w.pipes.readers.Go(func() { w.tell(e) })
	}
	return n, nil
}

// writePatience is how long a write waits for a connection that accepts nothing, and how long
// after that it is tried again.
const writePatience = time.Millisecond

func (w *pipe) write(data []byte) (n int, err error) {
	if err := w.SetWriteDeadline(time.Now().Add(writePatience)); err != nil {
		return 0, err
	}
	n, err = w.Conn.Write(data)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		if err = nil; w.retry != nil {
			w.retry.Reset(writePatience)
		}
	}
	return n, err
}

func (w *pipe) await(writable bool) error {
	if w.retry != nil {
		w.retry.Stop()
		w.retry = nil
	}
	if writable {
		e := w.event
		e.writable = true
		w.retry = time.AfterFunc(writePatience, func() { w.tell(e) })
	}
	return nil
}

func (w *pipe) close() {
	_ = w.await(false)
	close(w.closed)
	_ = w.Conn.Close()
}
