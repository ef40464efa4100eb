package webpush

import "sync"

// An lru is a map of bounded size that forgets what was used longest ago. It is
// safe for concurrent use. Values are returned as copies.
//
// Entries are numbered, and refer to each other by number: where neither K nor V holds a pointer
// the garbage collector has nothing to look at, however many there are. They are stored in chunks,
// so that none is ever copied: a value may be a secret key.
type lru[K comparable, V any] struct {
	mu      sync.Mutex
	closed  bool // nothing is put in any more
	max     int
	numbers map[K]uint32 // 0 is none
	chunks  []*[lruChunk]lruNode[K, V]
	used    uint32 // numbers given out so far
	free    uint32 // the first of those given back, linked by older
	newest  uint32
	oldest  uint32
}

const lruChunk = 64

type lruNode[K comparable, V any] struct {
	key          K
	value        V
	newer, older uint32
}

func newLRU[K comparable, V any](capacity int) *lru[K, V] {
	return &lru[K, V]{max: capacity, numbers: make(map[K]uint32)}
}

// node is the entry with this number, which is not 0.
func (c *lru[K, V]) node(number uint32) *lruNode[K, V] {
	return &c.chunks[(number-1)/lruChunk][(number-1)%lruChunk]
}

// get returns the value of key, and makes it the newest.
func (c *lru[K, V]) get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	number, ok := c.numbers[key]
	if !ok {
		return value, false
	}
	c.touch(number)
	return c.node(number).value, true
}

// put sets the value of key, and forgets the oldest if there are too many.
func (c *lru[K, V]) put(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set(key, value)
}

// getOrPut returns the value of key, setting it to what create makes if there
// is none. create runs under the lock and must be quick.
func (c *lru[K, V]) getOrPut(key K, create func() V) V {
	c.mu.Lock()
	defer c.mu.Unlock()
	if number, ok := c.numbers[key]; ok {
		c.touch(number)
		return c.node(number).value
	}
	value := create()
	c.set(key, value)
	return value
}

// removeIf forgets every entry whose value the condition holds for.
func (c *lru[K, V]) removeIf(condition func(V) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, number := range c.numbers {
		if condition(c.node(number).value) {
			c.remove(number)
		}
	}
}

func (c *lru[K, V]) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.numbers)
}

// close forgets every entry, and what is put in from now on. leave is called with
// each value first, if it is not nil.
func (c *lru[K, V]) close(leave func(V)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, number := range c.numbers {
		if leave != nil {
			leave(c.node(number).value)
		}
		c.remove(number)
	}
}

func (c *lru[K, V]) set(key K, value V) {
	if c.closed {
		return
	}
	if number, ok := c.numbers[key]; ok {
		c.node(number).value = value
		c.touch(number)
		return
	}
	for len(c.numbers) >= c.max && c.oldest != 0 {
		c.remove(c.oldest)
	}
	number := c.free
	if number != 0 {
		c.free = c.node(number).older
	} else {
		if c.used++; c.used > uint32(len(c.chunks))*lruChunk {
			c.chunks = append(c.chunks, new([lruChunk]lruNode[K, V]))
		}
		number = c.used
	}
	n := c.node(number)
	n.key, n.value = key, value
	c.numbers[key] = number
	c.link(number)
}

func (c *lru[K, V]) touch(number uint32) {
	if c.newest == number {
		return
	}
	c.unlink(number)
	c.link(number)
}

// remove forgets an entry and overwrites it, as it may hold a key.
func (c *lru[K, V]) remove(number uint32) {
	c.unlink(number)
	n := c.node(number)
	delete(c.numbers, n.key)
	if len(c.numbers) == 0 { // as when it was new
		*n = lruNode[K, V]{}
		c.chunks, c.used, c.free = nil, 0, 0
		return
	}
	*n = lruNode[K, V]{older: c.free}
	c.free = number
}

func (c *lru[K, V]) link(number uint32) {
	n := c.node(number)
	n.older, n.newer = c.newest, 0
	if c.newest != 0 {
		c.node(c.newest).newer = number
	} else {
		c.oldest = number
	}
	c.newest = number
}

func (c *lru[K, V]) unlink(number uint32) {
	n := c.node(number)
	if n.newer != 0 {
		c.node(n.newer).older = n.older
	} else {
		c.newest = n.older
	}
	if n.older != 0 {
		c.node(n.older).newer = n.newer
	} else {
		c.oldest = n.newer
	}
	n.newer, n.older = 0, 0
}
