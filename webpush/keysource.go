package webpush

import (
	"crypto/ecdh"
	"crypto/rand"
	"errors"
	"fmt"
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
	case modeShared:
		return newSharedKeys(r.ttl, now)
	case modeSession:
		return newSessionKeys(r.ttl, r.max, now)
	}
	return freshKeys{}
}

// A localKey is an ECDH key pair of the sender.
type localKey struct {
	private *ecdh.PrivateKey
	public  [publicKeyBytes]byte
}

func newLocalKey() (k localKey, err error) {
	if k.private, err = ecdh.P256().GenerateKey(rand.Reader); err != nil {
		return k, fmt.Errorf("webpush: generate ECDH key: %w", err)
	}
	copy(k.public[:], k.private.PublicKey().Bytes())
	return k, nil
}

// agree computes the ECDH secret of k and the subscription, and with it sets s.public and s.ikm.
func (k *localKey) agree(s *schedule, sub Subscription) error {
	theirs, err := ecdh.P256().NewPublicKey(s.theirs(sub)) // a hundredth of what ECDH takes
	if err != nil {
		return errors.New("webpush: the subscription's key is not on the curve") // impossible: it was checked
	}
	secret, err := k.private.ECDH(theirs)
	if err != nil {
		return errors.New("webpush: ECDH with the subscription's key failed")
	}
	s.public = k.public
	s.deriveIKM(secret, sub)
	clear(secret)
	return nil
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

// sharedKeys is the mode [SharedKey]: a key pair for each origin, which is forgotten in time.
type sharedKeys struct {
	ttl  time.Duration
	stop func() // of sweeping

	mu     sync.Mutex
	closed bool
	kept   map[string]keptPair // by origin
}

type keptPair struct {
	key  *localKey
	made time.Time
}

func newSharedKeys(ttl time.Duration, now func() time.Time) *sharedKeys {
	k := &sharedKeys{ttl: ttl, kept: make(map[string]keptPair)}
	k.stop = sweepOften(ttl, func() {
		at := now()
		k.mu.Lock()
		defer k.mu.Unlock()
		maps.DeleteFunc(k.kept, func(_ string, pair keptPair) bool { return !fresh(pair.made, at, ttl) })
	})
	return k
}

func (k *sharedKeys) agree(s *schedule, sub Subscription, now time.Time) error {
	key, err := k.get(sub.Origin(), now)
	if err != nil {
		return err
	}
	return key.agree(s, sub)
}

// get gives an origin's pair, a new one if the last is too old.
func (k *sharedKeys) get(origin string, now time.Time) (*localKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil, ErrClosed
	}
	if pair, ok := k.kept[origin]; ok && fresh(pair.made, now, k.ttl) {
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
	k.kept[origin] = keptPair{&key, now}
	return &key, nil
}

func (k *sharedKeys) close() {
	k.stop()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	clear(k.kept)
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
