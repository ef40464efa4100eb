package webpush

import (
	"math/rand/v2"
	"sync"
	"time"
)

// When an origin is paused: after so many messages in a row that it throttled, or
// failed.
const (
	throttlesToPause = 3
	failuresToPause  = 5
)

// An origin is what a client knows of a push service: whether it may be sent to.
//
// A service that throttles is left alone for as long as it asked for. One that fails is left alone
// for a while that doubles each time (a circuit breaker); the first message after it decides. One
// refused message says nothing about the others: services throttle single devices too.
type origin struct {
	mu        sync.Mutex
	until     time.Time // paused
	throttles int       // in a row
	failures  int       // in a row
	backoff   time.Duration
}

func newOrigin() *origin { return new(origin) }

// pause is how much longer the origin is paused, 0 if it is not.
func (o *origin) pause(now time.Time) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return max(o.until.Sub(now), 0)
}

// note takes the outcome of an attempt.
func (o *origin) note(outcome Outcome, a *answer, retry *Retry, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch outcome {
	case Canceled, Invalid:
		return
	case RateLimited:
		o.throttles, o.failures = o.throttles+1, 0
		if o.throttles < throttlesToPause {
			return
		}
	case Unavailable, Unreachable:
		o.failures++
		if o.failures < failuresToPause {
			return
		}
	default:
		o.throttles, o.failures, o.backoff = 0, 0, 0
		return
	}
	wait := a.retryAfter
	if !a.hasRetryAfter {
		if now.Before(o.until) {
			return // an answer to what was sent before the pause
		}
		o.backoff = min(max(2*o.backoff, 2*retry.Base), 10*retry.Max)
		wait = o.backoff/2 + rand.N(o.backoff/2+1)
	}
	if until := now.Add(wait); until.After(o.until) {
		o.until = until
	}
}
