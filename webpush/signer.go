package webpush

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

const (
	tokenLife  = 12 * time.Hour
	renewal    = time.Hour // a token is replaced when this is left
	maxOrigins = 1024      // endpoints come from strangers and may name any number of origins; those used longest ago are forgotten
)

// A signer makes the Authorization header of VAPID (RFC 8292) and keeps one token for each origin
// and key pair. The first message that needs a token signs it, and others to the same origin wait for
// it; messages to other origins do not.
//
// A token is used only while it expires in more than ten minutes, and in less than 24
// hours minus ten minutes. So a service whose clock is wrong by ten minutes does not
// refuse it, and it is not used after our clock has jumped. Unless the clock jumps, an
// origin sees a new token at most once an hour.
type signer struct {
	keys       *KeyRing
	subject    []byte // JSON
	tokens     *table[tokenID, tokenSlot]
	signatures atomic.Int64 // counted for tests
}

type tokenID struct {
	origin string
	keys   *VAPIDKeys
}

// A tokenSlot holds the token of one origin; its lock is held while signing.
type tokenSlot struct {
	mu      sync.Mutex
	current *token
}

func newSigner(keys *KeyRing, subject string) (*signer, error) {
	if keys == nil || keys.keys.Load() == nil {
		return nil, errors.New("webpush: signer: no VAPID keys")
	}
	text, err := subjectJSON(subject)
	if err != nil {
		return nil, err
	}
	return &signer{keys: keys, subject: text, tokens: newTable[tokenID, tokenSlot](maxOrigins)}, nil
}

// candidates lists the key pairs that may sign for sub, the likeliest first: one
// if it is known which the subscription was made with, all of them otherwise.
func (s *signer) candidates(sub Subscription) []*VAPIDKeys {
	keys := *s.keys.keys.Load()
	if key := sub.ServerKey(); key != "" {
		for i := range keys {
			if keys[i].public == key {
				return keys[i : i+1]
			}
		}
	}
	return keys
}

// authorize sets the Authorization header: "vapid t=<token>, k=<public key>" (RFC 8292 section 3).
func (s *signer) authorize(h *Header, origin string, keys *VAPIDKeys, at time.Time) error {
	now := at.Unix() // the wall clock: the push service goes by it
	slot := s.tokens.get(tokenID{origin, keys}, now)
	slot.mu.Lock()
	defer slot.mu.Unlock()
	if t := slot.current; t == nil || !t.usable(now) || t.expires-now <= int64(renewal/time.Second) {
		s.signatures.Add(1)
		signed, err := signToken(keys, origin, now+int64(tokenLife/time.Second), s.subject)
		if err != nil {
			return err
		}
		slot.current = signed
	}
	h.Authorization, h.expires = slot.current.header, slot.current.expires
	return nil
}
