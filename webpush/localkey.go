package webpush

import (
	"crypto/ecdh"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"
)

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
	theirs, err := ecdh.P256().NewPublicKey(sub.appendPublic(s.theirs[:0])) // a hundredth of what ECDH takes
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

// A sharedKey is a key pair for several messages, replaced when it is too old.
type sharedKey struct {
	mu     sync.Mutex
	key    *localKey
	made   time.Time
	closed bool
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
	o.key, o.made = &key, now
	return o.key, nil
}

// expire forgets a key that is too old.
func (o *sharedKey) expire(now time.Time, ttl time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.key != nil && !fresh(o.made, now, ttl) {
		o.key = nil
	}
}

// end forgets the key; there will be no other.
func (o *sharedKey) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.key, o.closed = nil, true
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
