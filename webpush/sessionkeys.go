package webpush

import (
	"crypto/sha256"
	"hash/maphash"
	"math"
	"time"
)

// sessionShards spreads a large session cache over several locks.
const sessionShards = 16

// sessionKeys keeps each subscription's input keying material.
type sessionKeys struct {
	ttl    time.Duration
	now    func() time.Time
	seed   maphash.Seed
	shards []*cache[uint64, session] // by a hash of the subscription's keys
	stop   func()                    // of sweeping
}

// A session is what is needed to encrypt another message to a subscription. It holds
// no pointer, so that the garbage collector passes over a million of them.
type session struct {
	keys   [flagsAt]byte // the subscription's: two may have one hash
	ikm    [sha256.Size]byte
	public [publicKeyBytes]byte
	made   int64 // nanoseconds since 1970
}

func newSessionKeys(ttl time.Duration, max int, now func() time.Time) *sessionKeys {
	k := &sessionKeys{ttl: ttl, now: now, seed: maphash.MakeSeed()}
	shards, share := 1, max
	if max >= 64*sessionShards {
		// Chance fills some shards more than others. Five standard deviations of room, so
		// that max subscriptions fit: those written to in turn would all miss in a shard
		// that is one too small.
		shards = sessionShards
		share = max/shards + 1
		share += 5 * int(math.Sqrt(float64(share)))
	}
	for range shards {
		k.shards = append(k.shards, newCache[uint64, session](share))
	}
	k.stop = sweepOften(ttl, k.sweep)
	return k
}

func (k *sessionKeys) agree(s *schedule, sub Subscription, now time.Time) error {
	keys := sub.keys()
	hash := maphash.String(k.seed, keys)
	shard := k.shards[hash%uint64(len(k.shards))]
	if kept, ok := shard.get(hash); ok && string(kept.keys[:]) == keys && fresh(time.Unix(0, kept.made), now, k.ttl) {
		s.ikm, s.public = kept.ikm, kept.public
		return nil
	}
	if err := (freshKeys{}).agree(s, sub, now); err != nil {
		return err
	}
	kept := session{ikm: s.ikm, public: s.public, made: now.UnixNano()}
	copy(kept.keys[:], keys)
	shard.put(hash, kept)
	return nil
}

// sweep forgets sessions that are too old, whether or not their subscription
// is ever written to again.
func (k *sessionKeys) sweep() {
	now := k.now()
	for _, shard := range k.shards {
		shard.removeIf(func(kept session) bool { return !fresh(time.Unix(0, kept.made), now, k.ttl) })
	}
}

func (k *sessionKeys) close() {
	k.stop()
	for _, shard := range k.shards {
		shard.close()
	}
}
