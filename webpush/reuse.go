package webpush

import (
	"fmt"
	"time"
)

// A Reuse says which parts of the key agreement a [Client] keeps between messages, and so what is
// given up for speed. The zero value, strict, keeps nothing: reading the memory opens no earlier
// and no later message, except that Go does not overwrite what it frees. It is the default because
// it is the RFC, and half of what a strict message costs is the network all the same.
//
// RFC 8291 section 3.1: "When sending a push message, the application server also generates a new
// ECDH key pair on the same P-256 curve." Every other mode departs from that sentence. RFC
// 8188 section 4.3 allows input keying material to be reused as long as the salt is unique each
// time; here it is 16 random bytes for every message, whatever the mode. Receivers cannot tell the
// modes apart, but a push service that compares the public keys of messages can.
//
// Someone who reads the server's memory at some moment always gets the VAPID private key, the
// subscriptions' authentication secrets and the messages being sent. With recorded or intercepted
// bodies they also get what each mode says below. docs/webpush.md has the same as a table.
type Reuse struct {
	mode reuseMode
	ttl  time.Duration
	max  int
}

type reuseMode uint8

const (
	modeStrict reuseMode = iota
	modeBroadcast
	modeShared
	modeSession
)

// Bounds of the reuse settings.
const (
	maxReuseTTL   = 24 * time.Hour
	maxSessions   = 1 << 24
	maxSharedKeys = 1024

	broadcastKeyTTL = time.Hour // a sequence of subscriptions may never end
)

// KeyPerBroadcast uses one key pair for all messages of one [Client.Broadcast],
// or for those of an hour if it takes longer; a single [Client.Send] stays strict.
// It departs from RFC 8291 section 3.1. Someone who reads the memory during a broadcast can
// open the bodies of that broadcast, all of which say the same, and no others.
func KeyPerBroadcast() Reuse { return Reuse{mode: modeBroadcast} }

// SharedKey costs 0.311 of webpush-go's message to strict's 0.382 (docs/evidence/webpush.md), and
// for that one stolen key opens every body that was or will be sent to an origin within the key's
// life, given the subscriptions: choose another mode. It uses one key pair for all messages to an
// origin until ttl has passed (above 0, at most 24 h), and departs from RFC 8291 section 3.1.
// Beyond 1024 origins, those used longest ago lose their key early.
func SharedKey(ttl time.Duration) Reuse { return Reuse{mode: modeShared, ttl: ttl} }

// SessionKeys keeps the input keying material of a subscription until ttl has passed (above 0, at
// most 24 h): no ECDH is computed for the second message and later ones. It keeps that of max
// subscriptions (at least 1), and first forgets those it has kept longest.
// Every subscription has a key pair of its own, which is forgotten at once. It departs from RFC
// 8291 section 3.1, and meets the condition of RFC 8188 section 4.3. Someone who reads the memory
// can open every body that was or will be sent to the subscriptions kept, within their entries'
// life.
//
// Entries are found by both keys of the subscription, so a browser that subscribes
// again never gets an old one. An entry takes about 250 bytes.
func SessionKeys(ttl time.Duration, max int) Reuse {
	return Reuse{mode: modeSession, ttl: ttl, max: max}
}

// String is the mode with its settings, as it would be written in Go.
func (r Reuse) String() string {
	switch r.mode {
	case modeBroadcast:
		return "KeyPerBroadcast()"
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
