package webpush

import "sync"

// An lru is a map of bounded size that forgets what was used longest ago. It is
// safe for concurrent use. Values are returned as copies.
type lru[K comparable, V any] struct {
	mu     sync.Mutex
	closed bool // nothing is put in any more
	max    int
	nodes  map[K]*lruNode[K, V]
	newest *lruNode[K, V]
	oldest *lruNode[K, V]
}

type lruNode[K comparable, V any] struct {
	key          K
	value        V
	newer, older *lruNode[K, V]
}

func newLRU[K comparable, V any](capacity int) *lru[K, V] {
	return &lru[K, V]{max: capacity, nodes: make(map[K]*lruNode[K, V])}
}

// get returns the value of key, and makes it the newest.
func (c *lru[K, V]) get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, ok := c.nodes[key]
	if !ok {
		return value, false
	}
	c.touch(n)
	return n.value, true
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
	if n, ok := c.nodes[key]; ok {
		c.touch(n)
		return n.value
	}
	value := create()
	c.set(key, value)
	return value
}

// removeIf forgets every entry whose value the condition holds for.
func (c *lru[K, V]) removeIf(condition func(V) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.nodes {
		if condition(n.value) {
			c.remove(n)
		}
	}
}

func (c *lru[K, V]) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.nodes)
}

// close forgets every entry, and what is put in from now on. leave is called with
// each value first, if it is not nil.
func (c *lru[K, V]) close(leave func(V)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, n := range c.nodes {
		if leave != nil {
			leave(n.value)
		}
		c.remove(n)
	}
}

func (c *lru[K, V]) set(key K, value V) {
	if c.closed {
		return
	}
	if n, ok := c.nodes[key]; ok {
		n.value = value
		c.touch(n)
		return
	}
	for len(c.nodes) >= c.max && c.oldest != nil {
		c.remove(c.oldest)
	}
	n := &lruNode[K, V]{key: key, value: value}
	c.nodes[key] = n
	c.link(n)
}

func (c *lru[K, V]) touch(n *lruNode[K, V]) {
	if c.newest == n {
		return
	}
	c.unlink(n)
	c.link(n)
}

// remove forgets n and overwrites its value, which may hold a key.
func (c *lru[K, V]) remove(n *lruNode[K, V]) {
	c.unlink(n)
	delete(c.nodes, n.key)
	var zero V
	n.value = zero
}

func (c *lru[K, V]) link(n *lruNode[K, V]) {
	n.older, n.newer = c.newest, nil
	if c.newest != nil {
		c.newest.newer = n
	} else {
		c.oldest = n
	}
	c.newest = n
}

func (c *lru[K, V]) unlink(n *lruNode[K, V]) {
	if n.newer != nil {
		n.newer.older = n.older
	} else {
		c.newest = n.older
	}
	if n.older != nil {
		n.older.newer = n.newer
	} else {
		c.oldest = n.newer
	}
	n.newer, n.older = nil, nil
}
