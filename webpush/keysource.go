package webpush

import (
	"sync"
	"time"
)

// A keySource sets s.public and s.ikm for one message to a subscription, made
// now. There is one kind for each mode of [Reuse].
type keySource interface {
	agree(s *schedule, sub Subscription, now time.Time) error
	close()
}

func newKeySource(r Reuse, now func() time.Time) keySource {
	switch r.mode {
	case modeBroadcast:
		return &broadcastKeys{keyPairs: newKeyPairs(broadcastKeyTTL, now)}
	case modeShared:
		return &originKeys{newKeyPairs(r.ttl, now), newTable[string, *sharedKey](maxSharedKeys)}
	case modeSession:
		return newSessionKeys(r.ttl, r.max, now)
	}
	return freshKeys{}
}

// freshKeys makes a key pair for each message.
type freshKeys struct{}

func (freshKeys) agree(s *schedule, sub Subscription, _ time.Time) error {
	k, err := newLocalKey()
	if err != nil {
		return err
	}
	return k.agree(s, sub)
}

func (freshKeys) close() {}

// A sharedKey is a key pair for several messages.
type sharedKey struct {
	pair *localKey // nil if there is none now
	made time.Time
}

// keyPairs makes the key pairs of shared keys, and forgets them in time.
type keyPairs struct {
	ttl  time.Duration
	stop func() // of sweeping

	mu     sync.Mutex
	closed bool
	live   map[*sharedKey]bool // those that have a pair
}

func newKeyPairs(ttl time.Duration, now func() time.Time) *keyPairs {
	k := &keyPairs{ttl: ttl, live: make(map[*sharedKey]bool)}
	k.stop = sweepOften(ttl, func() {
		at := now()
		k.forget(func(key *sharedKey) bool { return !fresh(key.made, at, ttl) })
	})
	return k
}

// pair gives a key's pair, a new one if the last is too old.
func (k *keyPairs) pair(key *sharedKey, now time.Time) (*localKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil, ErrClosed
	}
	if key.pair == nil || !fresh(key.made, now, k.ttl) {
		pair, err := newLocalKey()
		if err != nil {
			return nil, err
		}
		key.pair, key.made = &pair, now
		k.live[key] = true
	}
	return key.pair, nil
}

// forget forgets the pairs of some keys.
func (k *keyPairs) forget(which func(*sharedKey) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key := range k.live {
		if which(key) {
			key.pair = nil
			delete(k.live, key)
		}
	}
}

func (k *keyPairs) close() {
	k.stop()
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	k.forget(func(*sharedKey) bool { return true })
}

// agree uses the pair of a key.
func (k *keyPairs) agree(key *sharedKey, s *schedule, sub Subscription, now time.Time) error {
	pair, err := k.pair(key, now)
	if err != nil {
		return err
	}
	return pair.agree(s, sub)
}

// originKeys is the mode [SharedKey]: a key pair for each origin.
type originKeys struct {
	*keyPairs
	origins *table[string, *sharedKey]
}

func (k *originKeys) agree(s *schedule, sub Subscription, now time.Time) error {
	key := k.origins.get(sub.Origin(), now.Unix(), func() *sharedKey { return new(sharedKey) })
	return k.keyPairs.agree(key, s, sub, now)
}

// broadcastKeys is the mode [KeyPerBroadcast]: a key pair for each broadcast. Single messages,
// which have one each, use it without a key.
type broadcastKeys struct {
	*keyPairs
	key *sharedKey
}

func (k *broadcastKeys) agree(s *schedule, sub Subscription, now time.Time) error {
	if k.key == nil {
		return freshKeys{}.agree(s, sub, now)
	}
	return k.keyPairs.agree(k.key, s, sub, now)
}

// fresh reports whether something made at the time made may still be used. The wall clock decides,
// so that sleep counts; if it was set back to before made, the age is unknown and the answer is no.
// A caller that read the clock just before the key was made, and asks just after, does not count as
// a clock that was set back.
func fresh(made, now time.Time, ttl time.Duration) bool {
	const moment = time.Second
	age := now.Round(0).Sub(made.Round(0))
	return age > -moment && age < ttl
}

// maxSweepInterval is how long an unused key may stay in memory after its ttl.
const maxSweepInterval = 15 * time.Second

// sweepOften runs sweep from time to time in a goroutine of its own, so that a key's life ends even
// if nothing is sent any more. stop ends the goroutine and waits for it.
func sweepOften(ttl time.Duration, sweep func()) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		ticker := time.NewTicker(min(max(ttl/4, 50*time.Millisecond), maxSweepInterval))
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				sweep()
			case <-done:
				return
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
	}
}
