package webpush

import (
	"slices"
	"sync"
	"time"
	"weak"
)

// broadcastKeys is the mode [KeyPerBroadcast]: each single message and each broadcast has its own
// key pair.
type broadcastKeys struct {
	freshKeys
	now     func() time.Time
	janitor *janitor

	mu     sync.Mutex
	closed bool
	live   []weak.Pointer[sharedKey] // of broadcasts that may still be under way
}

func newBroadcastKeys(now func() time.Time) *broadcastKeys {
	k := &broadcastKeys{now: now}
	k.janitor = startJanitor(broadcastKeyTTL, k.sweep)
	return k
}

// start gives the key source of one broadcast.
func (k *broadcastKeys) start() oneKey {
	key := new(sharedKey)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		key.end()
		return oneKey{key}
	}
	k.live = slices.DeleteFunc(k.live, func(p weak.Pointer[sharedKey]) bool { return p.Value() == nil })
	k.live = append(k.live, weak.Make(key))
	return oneKey{key}
}

func (k *broadcastKeys) sweep() {
	now := k.now()
	k.each(func(key *sharedKey) { key.expire(now, broadcastKeyTTL) })
}

func (k *broadcastKeys) close() {
	k.janitor.stop()
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	k.each((*sharedKey).end)
}

func (k *broadcastKeys) each(do func(*sharedKey)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.live {
		if key := p.Value(); key != nil {
			do(key)
		}
	}
}

// oneKey uses a broadcast's key pair for every message.
type oneKey struct{ key *sharedKey }

func (o oneKey) agree(s *schedule, sub Subscription, now time.Time) error {
	key, err := o.key.get(now, broadcastKeyTTL)
	if err != nil {
		return err
	}
	return key.agree(s, sub)
}

func (o oneKey) close() { o.key.end() }
