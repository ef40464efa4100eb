package webpush

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

const (
	// After so many different subscriptions in a row were refused, by throttling or failing, an
	// origin is in doubt: a broadcast takes the next ones from anywhere in its queue, for
	// those that a service throttles singly are often neighbours.
	refusalsToDoubt = 3

	// After so many it is paused.
	refusalsToPause = 6

	// maxPause bounds a pause, whatever the service asks for. Then one message tries.
	maxPause = time.Hour
)

// An origin is what a client knows of a push service: whether it may be sent to.
//
// A service that throttles or fails is left alone for a while that doubles each time, up to as long
// as it asked for (a circuit breaker); the first message after it decides. One refused message says
// nothing about the others, however often it is tried: services throttle single devices too. So
// different subscriptions have to be refused, and none served in between.
type origin struct {
	mu      sync.Mutex
	until   time.Time // paused
	decided time.Time // when it came into doubt, or was paused
	asked   time.Time // until when the service asked to be left alone
	backoff time.Duration
	refused []string // endpoints in a row, at most refusalsToPause
}

// pause is how much longer the origin is paused, 0 if it is not.
func (o *origin) pause(now time.Time) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return max(o.until.Sub(now), 0)
}

// retryAfter is how much longer the service asked to be left alone, or will be.
func (o *origin) retryAfter(now time.Time) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return max(o.until.Sub(now), o.asked.Sub(now), 0)
}

// inDoubt reports whether the last answers were refusals.
func (o *origin) inDoubt() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.refused) >= refusalsToDoubt
}

// note takes the outcome of an attempt for sub that began at sentAt.
func (o *origin) note(sub Subscription, outcome Outcome, a *answer, retry *Retry, sentAt, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch outcome {
	case Canceled, Invalid, Failed:
		return
	case RateLimited, Unavailable, Unreachable:
	default:
		o.refused, o.backoff, o.asked = o.refused[:0], 0, time.Time{}
		return
	}
	if a.hasRetryAfter {
		o.asked = later(o.asked, now.Add(a.retryAfter))
	}
	if len(o.refused) >= refusalsToDoubt && sentAt.Before(o.decided) {
		return // it was sent before the doubt or the pause, beside those: it says nothing new
	}
	if len(o.refused) < refusalsToPause {
		endpoint := sub.Endpoint() // not the keys: a stranger can have many for one device
		if slices.Contains(o.refused, endpoint) {
			return
		}
		if o.refused = append(o.refused, endpoint); len(o.refused) == refusalsToDoubt {
			o.decided = now
		}
		if len(o.refused) < refusalsToPause {
			return
		}
	}
	longest := 10 * retry.Max
	if a.retryAfter > 0 { // "now" ends no pause: the service refuses all the same
		longest = a.retryAfter
	}
	o.backoff = min(max(2*o.backoff, 2*retry.Base), maxPause)
	wait := min(o.backoff/2+rand.N(o.backoff/2+1), longest)
	o.until, o.decided = now.Add(wait), now
}
