package webpush

import (
	"maps"
	"sync"
	"time"
)

// A keySource sets s.public and s.ikm for one message to a subscription, made now.
type keySource interface {
	agree(s *schedule, sub Subscription, now time.Time) error
	close()
}

func newKeySource(r Reuse, now func() time.Time) keySource {
	switch r.mode {
	case modeBroadcast:
		return sharedKeys{keyPairs: newKeyPairs(broadcastKeyTTL, now)}
	case modeShared:
		return sharedKeys{keyPairs: newKeyPairs(r.ttl, now), byOrigin: true}
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

// keyPairs are key pairs for several messages each, which are forgotten in time.
type keyPairs struct {
	ttl  time.Duration
	stop func() // of sweeping

	mu     sync.Mutex
	closed bool
	kept   map[string]keptPair // by the origin or the broadcast that they are for
}

type keptPair struct {
	key  *localKey
	made time.Time
}

func newKeyPairs(ttl time.Duration, now func() time.Time) *keyPairs {
	k := &keyPairs{ttl: ttl, kept: make(map[string]keptPair)}
	k.stop = sweepOften(ttl, func() {
		at := now()
		k.forget(func(_ string, pair keptPair) bool { return !fresh(pair.made, at, ttl) })
	})
	return k
}

// get gives an owner's pair, a new one if the last is too old.
func (k *keyPairs) get(owner string, now time.Time) (*localKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil, ErrClosed
	}
	if pair, ok := k.kept[owner]; ok && fresh(pair.made, now, k.ttl) {
		return pair.key, nil
	}
	key, err := newLocalKey()
	if err != nil {
		return nil, err
	}
	for other := range k.kept {
		if len(k.kept) < maxSharedKeys {
			break
		}
		delete(k.kept, other)
	}
	k.kept[owner] = keptPair{&key, now}
	return &key, nil
}

func (k *keyPairs) forget(which func(owner string, pair keptPair) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.kept, which)
}

func (k *keyPairs) close() {
	k.stop()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	clear(k.kept)
}

// sharedKeys are the modes [SharedKey], a key pair for each origin, and [KeyPerBroadcast], one for
// each broadcast. Single messages of the latter, which have one each, use it without a broadcast.
type sharedKeys struct {
	*keyPairs
	byOrigin  bool
	broadcast string // a random name, or ""
}

func (k sharedKeys) agree(s *schedule, sub Subscription, now time.Time) error {
	owner := k.broadcast
	if k.byOrigin {
		owner = sub.Origin()
	} else if owner == "" {
		return freshKeys{}.agree(s, sub, now)
	}
	key, err := k.get(owner, now)
	if err != nil {
		return err
	}
	return key.agree(s, sub)
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
