package webpush

import (
	"fmt"
	"time"
)

// A Reuse says which parts of the key agreement a [Client] keeps between messages. The zero value,
// strict, keeps nothing: whoever reads the memory opens no earlier and no later message, except that
// Go does not overwrite what it frees.
//
// RFC 8291 section 3.1: "When sending a push message, the application server also generates a new
// ECDH key pair on the same P-256 curve." Every other mode departs from that sentence. RFC 8188
// section 4.3 allows input keying material to be reused if the salt is unique each time; here it is
// 16 random bytes for every message. A push service that compares public keys sees the mode.
//
// Whoever reads the memory always gets the VAPID private key, the subscriptions' secrets and the
// messages being sent. With intercepted bodies they also get what each mode says below.
type Reuse struct {
	mode reuseMode
	ttl  time.Duration
	max  int
}

type reuseMode uint8

const (
	modeStrict reuseMode = iota
	modeShared
	modeSession
)

// Bounds of the reuse settings.
const (
	maxReuseTTL   = 24 * time.Hour
	maxSessions   = 1 << 24
	maxSharedKeys = 1024
)

// SharedKey costs 0.311 of webpush-go's message to strict's 0.382 (docs/evidence/webpush.md), and
// for that one stolen key opens every body that was or will be sent to an origin within the key's
// life, given the subscriptions: choose another mode. It uses one key pair for all messages to an
// origin until ttl has passed (above 0, at most 24 h), of 1024 origins at most.
func SharedKey(ttl time.Duration) Reuse { return Reuse{mode: modeShared, ttl: ttl} }

// SessionKeys keeps the input keying material of max subscriptions until ttl has passed (above 0, at
// most 24 h), so that only a subscription's first message computes ECDH. Beyond max it forgets those
// that it has kept longest. Whoever reads the memory can open every body that was or will be sent
// to these subscriptions within ttl. An entry takes about 250 bytes.
func SessionKeys(ttl time.Duration, max int) Reuse {
	return Reuse{mode: modeSession, ttl: ttl, max: max}
}

// String is the mode with its settings, as it would be written in Go.
func (r Reuse) String() string {
	switch r.mode {
	case modeShared:
		return fmt.Sprintf("SharedKey(%s)", r.ttl)
	case modeSession:
		return fmt.Sprintf("SessionKeys(%s, %d)", r.ttl, r.max)
	}
	return "strict"
}

func (r Reuse) check() error {
	if (r.mode == modeShared || r.mode == modeSession) && (r.ttl <= 0 || r.ttl > maxReuseTTL) {
		return fmt.Errorf("webpush: %s: ttl must be above 0 and at most %s", r, maxReuseTTL)
	}
	if r.mode == modeSession && (r.max < 1 || r.max > maxSessions) {
		return fmt.Errorf("webpush: %s: max must be between 1 and %d", r, maxSessions)
	}
	return nil
}
