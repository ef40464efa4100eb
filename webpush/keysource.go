package webpush

import (
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
		return newBroadcastKeys(now)
	case modeShared:
		return newSharedKeys(r.ttl, now)
	case modeSession:
		return newSessionKeys(r.ttl, r.max, now)
	}
	return freshKeys{}
}

// freshKeys makes a key pair for each message.
type freshKeys struct{}

func (freshKeys) agree(s *schedule, sub Subscription, _ time.Time) error {
	var k localKey
	if err := k.generate(); err != nil {
		return err
	}
	return k.agree(s, sub)
}

func (freshKeys) close() {}

// fresh reports whether something made at the time made may still be used. The wall clock decides,
// so that sleep counts; if it was set back to before made, the age is unknown and the answer is no.
// A caller that read the clock just before the key was made, and asks just after, does not count as
// a clock that was set back.
func fresh(made, now time.Time, ttl time.Duration) bool {
	const moment = time.Second
	age := now.Round(0).Sub(made.Round(0))
	return age > -moment && age < ttl
}
