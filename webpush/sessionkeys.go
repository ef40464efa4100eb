package webpush

import (
	"crypto/sha256"
	"hash/maphash"
	"sync"
	"time"
)

// sessionKeys is the mode [SessionKeys]. It keeps each subscription's input keying material in a
// ring, the oldest first. Neither the ring nor the map holds a pointer, so that the garbage
// collector passes over a million sessions.
type sessionKeys struct {
	ttl  time.Duration
	max  int
	seed maphash.Seed
	stop func() // of sweeping

	mu          sync.Mutex
	closed      bool
	numbers     map[uint64]int // by a hash of the subscription's keys
	ring        []*[sessionChunk]session
	first, next int // numbers of the oldest session and of the one to come
}

const sessionChunk = 64

// A session is what is needed to encrypt another message to a subscription.
type session struct {
	keys   [flagsAt]byte // the subscription's: two may have one hash
	ikm    [sha256.Size]byte
	public [publicKeyBytes]byte
	made   int64 // nanoseconds since 1970
}

func newSessionKeys(ttl time.Duration, max int, now func() time.Time) *sessionKeys {
	k := &sessionKeys{ttl: ttl, max: max, seed: maphash.MakeSeed(), numbers: make(map[uint64]int)}
	k.stop = sweepOften(ttl, func() { k.sweep(now()) })
	return k
}

func (k *sessionKeys) agree(s *schedule, sub Subscription, now time.Time) error {
	keys := sub.keys()
	hash := maphash.String(k.seed, keys)
	if k.use(s, hash, keys, now) {
		return nil
	}
	if err := (freshKeys{}).agree(s, sub, now); err != nil {
		return err
	}
	kept := session{ikm: s.ikm, public: s.public, made: now.UnixNano()}
	copy(kept.keys[:], keys)
	k.put(hash, kept)
	return nil
}

// use takes the keying material of a session, if there is one.
func (k *sessionKeys) use(s *schedule, hash uint64, keys string, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	number, ok := k.numbers[hash]
	if !ok {
		return false
	}
	kept := k.at(number)
	if string(kept.keys[:]) != keys || !k.isFresh(kept, now) {
		return false
	}
	s.ikm, s.public = kept.ikm, kept.public
	return true
}

// put keeps a session, and forgets the oldest if there are too many.
func (k *sessionKeys) put(hash uint64, kept session) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return
	}
	if k.next-k.first == k.max {
		k.forgetFirst()
	}
	if k.next%k.max/sessionChunk == len(k.ring) {
		k.ring = append(k.ring, new([sessionChunk]session))
	}
	*k.at(k.next) = kept
	k.numbers[hash] = k.next
	k.next++
}

func (k *sessionKeys) at(number int) *session {
	place := number % k.max
	return &k.ring[place/sessionChunk][place%sessionChunk]
}

func (k *sessionKeys) isFresh(kept *session, now time.Time) bool {
	return fresh(time.Unix(0, kept.made), now, k.ttl)
}

// forgetFirst overwrites the oldest session.
func (k *sessionKeys) forgetFirst() {
	kept := k.at(k.first)
	hash := maphash.Bytes(k.seed, kept.keys[:])
	if k.numbers[hash] == k.first { // not replaced by a later one
		delete(k.numbers, hash)
	}
	*kept = session{}
	k.first++
}

// sweep forgets the sessions that are too old, also of subscriptions that nobody writes to again.
func (k *sessionKeys) sweep(now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for k.first < k.next && (k.closed || !k.isFresh(k.at(k.first), now)) {
		k.forgetFirst()
	}
	if k.first == k.next {
		k.ring, k.first, k.next = nil, 0, 0
	}
}

func (k *sessionKeys) close() {
	k.stop()
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	k.sweep(time.Time{})
}
