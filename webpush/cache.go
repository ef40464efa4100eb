package webpush

import "sync"

// A cache is a map of bounded size for secrets. When it is full it forgets an entry that was not
// used since the hand last came by (the clock algorithm): reading marks an entry and moves nothing.
// It is safe for concurrent use. Values are returned as copies.
//
// Entries are numbered: where neither K nor V holds a pointer the garbage collector has nothing to
// look at, however many there are. They are stored in chunks, so that none is ever copied, and are
// overwritten when they are forgotten.
type cache[K comparable, V any] struct {
	mu      sync.Mutex
	closed  bool // nothing is put in any more
	max     int
	numbers map[K]uint32
	chunks  []*[cacheChunk]cacheEntry[K, V]
	made    uint32   // numbers given out so far
	free    []uint32 // those given back
	hand    uint32
}

const cacheChunk = 64

type cacheEntry[K comparable, V any] struct {
	key   K
	value V
	used  bool // since the hand came by
}

func newCache[K comparable, V any](capacity int) *cache[K, V] {
	return &cache[K, V]{max: capacity, numbers: make(map[K]uint32)}
}

func (c *cache[K, V]) entry(number uint32) *cacheEntry[K, V] {
	return &c.chunks[number/cacheChunk][number%cacheChunk]
}

// get returns the value of key.
func (c *cache[K, V]) get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	number, ok := c.numbers[key]
	if !ok {
		return value, false
	}
	e := c.entry(number)
	e.used = true
	return e.value, true
}

// put sets the value of key, and forgets another if there are too many.
func (c *cache[K, V]) put(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	number, ok := c.numbers[key]
	if !ok {
		number = c.room()
		c.numbers[key] = number
	}
	*c.entry(number) = cacheEntry[K, V]{key: key, value: value}
}

// room gives a number that is not taken.
func (c *cache[K, V]) room() uint32 {
	for len(c.numbers) >= c.max {
		c.hand = (c.hand + 1) % c.made
		if e := c.entry(c.hand); e.used {
			e.used = false
		} else {
			c.remove(c.hand)
		}
	}
	if n := len(c.free); n > 0 {
		number := c.free[n-1]
		c.free = c.free[:n-1]
		return number
	}
	if c.made%cacheChunk == 0 {
		c.chunks = append(c.chunks, new([cacheChunk]cacheEntry[K, V]))
	}
	c.made++
	return c.made - 1
}

// removeIf forgets every entry whose value the condition holds for.
func (c *cache[K, V]) removeIf(condition func(V) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, number := range c.numbers {
		if condition(c.entry(number).value) {
			c.remove(number)
		}
	}
	if len(c.numbers) == 0 { // as when it was new
		c.chunks, c.made, c.free, c.hand = nil, 0, nil, 0
	}
}

func (c *cache[K, V]) remove(number uint32) {
	e := c.entry(number)
	delete(c.numbers, e.key)
	*e = cacheEntry[K, V]{}
	c.free = append(c.free, number)
}

// close forgets every entry, and what is put in from now on.
func (c *cache[K, V]) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.removeIf(func(V) bool { return true })
}
