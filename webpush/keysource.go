package webpush

import (
	"slices"
	"sync"
	"time"
	"weak"
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

// keyPairs sees to it that key pairs are forgotten in time. It keeps none: what uses one does.
type keyPairs struct {
	ttl  time.Duration
	stop func() // of sweeping

	mu     sync.Mutex
	closed bool
	live   []weak.Pointer[sharedKey]
}

func newKeyPairs(ttl time.Duration, now func() time.Time) *keyPairs {
	k := &keyPairs{ttl: ttl}
	k.stop = sweepOften(ttl, func() {
		k.each(func(key *sharedKey) { key.expire(now(), ttl) })
	})
	return k
}

func (k *keyPairs) add() *sharedKey {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := &sharedKey{closed: k.closed}
	k.live = slices.DeleteFunc(k.live, func(p weak.Pointer[sharedKey]) bool { return p.Value() == nil })
	k.live = append(k.live, weak.Make(key))
	return key
}

func (k *keyPairs) each(do func(*sharedKey)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.live {
		if key := p.Value(); key != nil {
			do(key)
		}
	}
}

func (k *keyPairs) close() {
	k.stop()
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	k.each((*sharedKey).end)
}

// agree uses one of the key pairs.
func (k *keyPairs) agree(key *sharedKey, s *schedule, sub Subscription, now time.Time) error {
	pair, err := key.get(now, k.ttl)
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
	return k.keyPairs.agree(k.origins.get(sub.Origin(), now.Unix(), k.add), s, sub, now)
}

// broadcastKeys is the mode [KeyPerBroadcast]: a key pair for each broadcast. Without a key it is
// what single messages use, which have one each.
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
