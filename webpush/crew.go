package webpush

import "sync"

// A crew is a broadcast's workers, and what they hand to its loop.
type crew struct {
	results chan broadcastResult // no room: a worker's request is under way until its result is taken
	left    chan struct{}        // closed when nobody takes results any more
	workers sync.WaitGroup

	starting sync.Mutex // held while a worker starts
	closed   bool       // no worker starts any more
}

type broadcastResult struct {
	recipient
	result Result
}

// spawn runs f in a goroutine that the broadcast waits for, unless it has ended.
func (c *crew) spawn(f func()) bool {
	c.starting.Lock()
	defer c.starting.Unlock()
	if c.closed {
		return false
	}
	c.workers.Go(f)
	return true
}

// deliver hands a result from a worker to the loop, and reports whether anybody took it.
func (c *crew) deliver(to recipient, r Result) bool {
	select {
	case c.results <- broadcastResult{to, r}:
		return true
	case <-c.left:
		return false
	}
}

// close lets no worker start any more.
func (c *crew) close() {
	c.starting.Lock()
	c.closed = true
	c.starting.Unlock()
}
