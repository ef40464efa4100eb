package webpush

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// A table is a map of bounded size for what every message reads and few add to, such as what is
// known of an origin: reading takes no lock, adding copies the map. When it is full it forgets the
// eighth that was used longest ago.
type table[K comparable, V any] struct {
	max     int
	mu      sync.Mutex // held while adding
	entries atomic.Pointer[map[K]*tableEntry[V]]
}

type tableEntry[V any] struct {
	used  atomic.Int64 // seconds since 1970
	value V
}

func newTable[K comparable, V any](capacity int) *table[K, V] {
	t := &table[K, V]{max: capacity}
	t.entries.Store(&map[K]*tableEntry[V]{})
	return t
}

// get returns the value of key at this time (seconds since 1970), setting it to what
// create makes if there is none.
func (t *table[K, V]) get(key K, now int64, create func() V) V {
	e, ok := (*t.entries.Load())[key]
	if !ok {
		e = t.add(key, now, create)
	}
	if e.used.Load() != now { // once a second, so that processors do not fight over it
		e.used.Store(now)
	}
	return e.value
}

func (t *table[K, V]) add(key K, now int64, create func() V) *tableEntry[V] {
	t.mu.Lock()
	defer t.mu.Unlock()
	entries := *t.entries.Load()
	if e, ok := entries[key]; ok {
		return e // another goroutine added it first
	}
	entries = maps.Clone(entries)
	if len(entries) >= t.max {
		age := func(a, b K) int { return int(entries[a].used.Load() - entries[b].used.Load()) }
		for i, old := range slices.SortedFunc(maps.Keys(entries), age) {
			if i > t.max/8 {
				break
			}
			delete(entries, old)
		}
	}
	e := &tableEntry[V]{value: create()}
	e.used.Store(now)
	entries[key] = e
	t.entries.Store(&entries)
	return e
}
