package webpush

import (
	"sync"
	"time"
)

// sharedKeys keeps a key pair for each origin.
type sharedKeys struct {
	ttl     time.Duration
	now     func() time.Time
	origins *lru[string, *sharedKey]
	janitor *janitor
}

// A sharedKey is one origin's key pair, replaced when it is too old.
type sharedKey struct {
	mu     sync.Mutex
	key    *localKey
	made   time.Time
	closed bool
}

func newSharedKeys(ttl time.Duration, now func() time.Time) *sharedKeys {
	k := &sharedKeys{ttl: ttl, now: now, origins: newLRU[string, *sharedKey](maxSharedKeys)}
	k.janitor = startJanitor(ttl, k.sweep)
	return k
}

func (k *sharedKeys) agree(s *schedule, sub Subscription, now time.Time) error {
	origin := k.origins.getOrPut(sub.Origin(), func() *sharedKey { return new(sharedKey) })
	key, err := origin.get(now, k.ttl)
	if err != nil {
		return err
	}
	return key.agree(s, sub)
}

func (o *sharedKey) get(now time.Time, ttl time.Duration) (*localKey, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil, ErrClosed
	}
	if o.key != nil && fresh(o.made, now, ttl) {
		return o.key, nil
	}
	key, err := newLocalKey()
	if err != nil {
		return nil, err
	}
	o.key, o.made = key, now
	return key, nil
}

// sweep forgets keys that are too old, in use or not.
func (k *sharedKeys) sweep() {
	now := k.now()
	k.origins.removeIf(func(o *sharedKey) bool { return o.expire(now, k.ttl) })
}

// expire forgets a key that is too old.
func (o *sharedKey) expire(now time.Time, ttl time.Duration) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.key == nil || fresh(o.made, now, ttl) {
		return false
	}
	o.key = nil
	return true
}

// end forgets the key; there will be no other.
func (o *sharedKey) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.key, o.closed = nil, true
}

func (k *sharedKeys) close() {
	k.janitor.stop()
	k.origins.close((*sharedKey).end)
}
