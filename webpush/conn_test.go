package webpush

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A slowConn takes a write when it is told to.
type slowConn struct {
	net.Conn
	turns  chan error // what a write gives
	closed chan struct{}
	once   sync.Once
	mu     sync.Mutex
	got    [][]byte // of writes that have begun
}

func newSlowConn() *slowConn {
	return &slowConn{turns: make(chan error), closed: make(chan struct{})}
}

func (c *slowConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	c.got = append(c.got, bytes.Clone(p))
	c.mu.Unlock()
	select {
	case err := <-c.turns:
		return len(p), err
	case <-c.closed:
		return 0, net.ErrClosed
	}
}

// SetWriteDeadline ends a write as TCP's does; here, all after it too.
func (c *slowConn) SetWriteDeadline(at time.Time) error {
	time.AfterFunc(time.Until(at), func() { c.Close() })
	return nil
}

func (c *slowConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// TestConnSendsTogether writes while an earlier write is on its way.
func TestConnSendsTogether(t *testing.T) {
	var open atomic.Int64
	inner := newSlowConn()
	c := newConn(inner, &open)
	var want []byte
	for i := range 100 {
		p := fmt.Appendf(nil, "frame %d;", i)
		want = append(want, p...)
		if n, err := c.Write(p); n != len(p) || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
		clear(p) // the caller's again
	}
	sent := func() []byte {
		inner.mu.Lock()
		defer inner.mu.Unlock()
		return bytes.Join(inner.got, nil)
	}
	for len(sent()) < len(want) {
		inner.turns <- nil
	}
	got := sent()
	if !bytes.Equal(got, want) {
		t.Errorf("sent %q", got)
	}
	if len(inner.got) > 2 {
		t.Errorf("100 writes were sent in %d", len(inner.got))
	}
	if c.Close(); open.Load() != 0 {
		t.Errorf("%d connections open", open.Load())
	}
}

// TestConnFails has a write fail after the caller was told that it is done: every
// later one fails, and the connection is closed, once.
func TestConnFails(t *testing.T) {
	var open atomic.Int64
	inner, broken := newSlowConn(), errors.New("broken")
	c := newConn(inner, &open)
	if _, err := c.Write([]byte("a")); err != nil {
		t.Fatal(err)
	}
	inner.turns <- broken
	<-inner.closed
	if _, err := c.Write([]byte("b")); err != broken {
		t.Errorf("%v", err)
	}
	c.Close()
	c.Close()
	if open.Load() != 0 {
		t.Errorf("%d connections open", open.Load())
	}
}

// TestConnIsBounded writes to a peer that takes nothing: the writer waits, and Close
// ends that and the goroutine that sends.
func TestConnIsBounded(t *testing.T) {
	var open atomic.Int64
	c := newConn(newSlowConn(), &open)
	ended := make(chan error)
	var written atomic.Int64
	go func() {
		for {
			n, err := c.Write(make([]byte, 1000))
			if err != nil {
				ended <- err
				return
			}
			written.Add(int64(n))
		}
	}()
	for written.Load() < maxUnsentBytes {
		time.Sleep(time.Millisecond)
	}
	c.Close()
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v", err)
	}
	if n := written.Load(); n > 3*maxUnsentBytes {
		t.Errorf("%d bytes kept", n)
	}
	if c.sending {
		t.Error("the goroutine runs")
	}
}

// TestConnSendsTheRest closes a connection right after writing to it.
func TestConnSendsTheRest(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for range 50 {
		inner, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		peer, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		c := newConn(inner, new(atomic.Int64))
		if _, err := c.Write([]byte("this is the end")); err != nil {
			t.Fatal(err)
		}
		c.Close()
		if got, err := io.ReadAll(peer); err != nil || string(got) != "this is the end" {
			t.Fatalf("%q, %v", got, err)
		}
		peer.Close()
	}
}
