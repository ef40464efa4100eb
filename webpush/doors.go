package webpush

import (
	"context"
	"sync"
	"time"
)

// maxDoorWait is how long messages to an origin wait for the first of them to
// have a connection.
const maxDoorWait = 2 * time.Second

// doors has the first message of a broadcast to an origin open the connection
// that the others then share. Without it, as many connections are made at once
// as there are workers, each with a TLS handshake, and all but one are thrown
// away again (HTTP/2 needs no more).
type doors struct {
	mu      sync.Mutex
	origins map[string]chan struct{} // closed once there is a connection
}

func newDoors() *doors { return &doors{origins: make(map[string]chan struct{})} }

// enter waits for the origin's door, but not for long. The first to come does
// not wait and is given a function that opens it, to be called when there is a
// connection or there will be none; the others are given nil.
func (d *doors) enter(ctx context.Context, origin string) (open func()) {
	d.mu.Lock()
	door, ok := d.origins[origin]
	if !ok {
		door = make(chan struct{})
		d.origins[origin] = door
	}
	d.mu.Unlock()
	if !ok {
		return sync.OnceFunc(func() { close(door) })
	}
	select {
	case <-door:
		return nil
	default:
	}
	timer := time.NewTimer(maxDoorWait)
	defer timer.Stop()
	select {
	case <-door:
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil
}
