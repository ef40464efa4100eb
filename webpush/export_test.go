package webpush

import "time"

// WithClock gives a client a clock.
func (cfg Config) WithClock(now func() time.Time) Config {
	cfg.now = now
	return cfg
}

func (c *cache[K, V]) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.numbers)
}

func (t *table[K, V]) len() int { return len(*t.entries.Load()) }

// AsType is asType.
func AsType[T error](err error) (T, bool) { return asType[T](err) }
