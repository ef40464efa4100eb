package webpush

import "sync"

// A table is a map of bounded size, of what is known of an origin for example. When it is full it
// forgets what was used longest ago.
type table[K comparable, V any] struct {
	max     int
	mu      sync.Mutex
	entries map[K]*tableEntry[V]
}

type tableEntry[V any] struct {
	used  int64 // seconds since 1970
	value V
}

func newTable[K comparable, V any](capacity int) *table[K, V] {
	return &table[K, V]{max: capacity, entries: make(map[K]*tableEntry[V])}
}

// get returns the value of key, the zero value at first, and notes that it is used now.
func (t *table[K, V]) get(key K, now int64) *V {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, ok := t.entries[key]
	if !ok {
		if len(t.entries) >= t.max {
			t.forgetOldest()
		}
		e = new(tableEntry[V])
		t.entries[key] = e
	}
	e.used = now
	return &e.value
}

func (t *table[K, V]) forgetOldest() {
	var oldest K
	var found *tableEntry[V]
	for key, e := range t.entries {
		if found == nil || e.used < found.used {
			oldest, found = key, e
		}
	}
	delete(t.entries, oldest)
}
