package webpush

import (
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// maxUnsentBytes bounds what a conn keeps of writes that are not sent yet. A message
// takes about 1 KB.
const maxUnsentBytes = 64 << 10

// A conn sends together what is written to it at about the same time. net/http flushes after a
// request's header fields and again after its body, two system calls a message. Here Write copies
// the bytes, and a goroutine sends them after the other runnable goroutines have had their turn.
//
// So a successful write means only that nothing has failed so far. When sending fails, the
// connection is closed and its reader gets an error.
type conn struct {
	net.Conn
	open *atomic.Int64 // counts open connections

	mu      sync.Mutex
	room    *sync.Cond // signalled when unsent is taken, or err is set
	unsent  []byte
	spare   []byte         // of the batch before
	writing bool           // a batch is on its way
	sender  sync.WaitGroup // of the goroutine that sends, at most one
	sending bool           // it runs
	err     error          // why nothing is sent any more
}

func newConn(inner net.Conn, open *atomic.Int64) *conn {
	open.Add(1)
	c := &conn{Conn: inner, open: open}
	c.room = sync.NewCond(&c.mu)
	return c
}

// Write keeps a copy of p to be sent. It waits while too much is unsent.
func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.unsent) >= maxUnsentBytes && c.err == nil {
		c.room.Wait()
	}
	if c.err != nil {
		return 0, c.err
	}
	c.unsent = append(c.unsent, p...)
	if !c.sending {
		c.sending = true
		c.sender.Go(c.send)
	}
	return len(p), nil
}

// send sends what is unsent until nothing is.
func (c *conn) send() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.err == nil {
		c.mu.Unlock()
		runtime.Gosched() // more may be written by those that are ready to run
		c.mu.Lock()
		if len(c.unsent) == 0 || c.err != nil {
			break
		}
		batch := c.unsent
		c.unsent, c.spare, c.writing = c.spare[:0], nil, true
		c.room.Broadcast()
		c.mu.Unlock()
		_, err := c.Conn.Write(batch)
		c.mu.Lock()
		c.spare, c.writing = batch, false
		if err != nil && c.err == nil {
			c.failLocked(err)
			c.Conn.Close() // its reader learns of it
		}
	}
	c.sending = false
}

// failLocked makes every later write fail with err.
func (c *conn) failLocked(err error) {
	c.err = err
	c.open.Add(-1)
	c.room.Broadcast()
}

// Close sends what is unsent, such as TLS's alert that this is the end, unless
// earlier bytes are still on their way.
func (c *conn) Close() error {
	c.mu.Lock()
	if c.err == nil {
		c.failLocked(net.ErrClosed)
		if len(c.unsent) > 0 && !c.writing {
			c.Conn.SetWriteDeadline(time.Now().Add(time.Second)) //nolint:errcheck // best effort
			c.Conn.Write(c.unsent)                               //nolint:errcheck // likewise
		}
	}
	c.mu.Unlock()
	err := c.Conn.Close()
	c.sender.Wait()
	return err
}
