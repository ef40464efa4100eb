package webpush

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

const (
	// After so many different subscriptions in a row were refused an origin is in doubt: a
	// broadcast goes on with others, before it tries any of these again.
	refusalsToDoubt = 3

	// After so many it is paused.
	refusalsToPause = 6

	// maxPause bounds a pause, whatever the service asks for. Then one message tries.
	maxPause = time.Hour
)

// An origin is what a client knows of a push service: whether it may be sent to, and believed.
//
// A service that throttles or fails is left alone for a while that doubles each time, up to as long
// as it asked for (a circuit breaker); the first message after it decides. One refused message says
// nothing about the others, however often it is tried: services throttle single devices too. So
// different subscriptions have to be refused, and none served in between.
//
// So is one that answers everybody that the key is wrong, or that the subscription is gone. It may
// be our mistake or its own: nothing is concluded until it has taken a message again.
type origin struct {
	mu      sync.Mutex
	resumes time.Time // paused
	decided time.Time // when it came into doubt, or was paused
	asked   time.Time // until when the service asked to be left alone
	backoff time.Duration
	suspect bool
	cause   string    // of the pause
	cleared time.Time // when it was last no longer suspect
	doubted time.Time // when it last took a message after refusals in a row, or its first

	// Endpoints in a row that were throttled or failed, refused, and gone.
	failed, refused, gone []string
}

// pause is how much longer the origin is paused, 0 if it is not.
func (o *origin) pause(now time.Time) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return max(o.resumes.Sub(now), 0)
}

// deferral is how much longer the service asked to be left alone, or will be, and why.
func (o *origin) deferral(now time.Time) (retryAfter time.Duration, cause error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return max(o.resumes.Sub(now), o.asked.Sub(now), 0), errors.New(cmp.Or(o.cause, "the service takes nothing"))
}

// inDoubt reports whether the last answers were refusals.
func (o *origin) inDoubt() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return max(len(o.failed), len(o.refused), len(o.gone)) >= refusalsToDoubt
}

// isSuspect reports whether the origin's refusals are not to be believed.
func (o *origin) isSuspect() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.suspect
}

// isToBeAskedAgain reports whether a delivery that the origin refused before it took a message is
// not to be believed: the origin was suspect, or in doubt, and the delivery was asked once only.
func (o *origin) isToBeAskedAgain(d *delivery) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !d.past.notBefore.After(o.cleared) || !d.past.again && !d.past.notBefore.After(o.doubted)
}

// note takes the outcome of an attempt, and reports whether it made the origin suspect.
func (o *origin) note(d *delivery, outcome Outcome, a *answer, now time.Time) (suspected bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	run, full := &o.failed, refusalsToPause
	switch outcome {
	case Canceled, Invalid:
		return false
	case RateLimited, Unavailable, Unreachable:
		if a.hasRetryAfter {
			o.asked = later(o.asked, now.Add(a.retryAfter))
		}
	default:
		o.failed, o.asked = o.failed[:0], time.Time{}
		if outcome == Accepted {
			o.cause = ""
			if o.doubted.IsZero() || max(len(o.refused), len(o.gone)) >= refusalsToDoubt {
				o.doubted = now
			}
			o.refused, o.gone = o.refused[:0], o.gone[:0]
			if o.suspect {
				o.suspect, o.cleared = false, now
			}
		}
		if !o.suspect {
			o.backoff = 0
		}
		run, full = &o.refused, d.job.client.cfg.Limits.Refusals
		if outcome == Gone {
			run, full = &o.gone, d.job.client.cfg.Limits.Gone
		}
		if outcome == Accepted || outcome == TooLarge || d.past.again || full < 0 {
			return false
		}
	}
	if len(*run) >= min(refusalsToDoubt, full) && d.past.sentAt.Before(o.decided) {
		return false // it was sent before the doubt or the pause, beside those: it says nothing new
	}
	if len(*run) < full {
		endpoint := d.sub.Endpoint() // not the keys: a stranger can have many for one device
		if slices.Contains(*run, endpoint) {
			return false
		}
		if *run = append(*run, endpoint); len(*run) == refusalsToDoubt {
			o.decided = now
		}
		if len(*run) < full {
			return false
		}
	}
	longest := 10 * d.job.client.cfg.Retry.Max
	if a.retryAfter > 0 { // "now" ends no pause: the service refuses all the same
		longest = a.retryAfter
	}
	o.backoff = min(max(2*o.backoff, 2*d.job.client.cfg.Retry.Base), maxPause)
	wait := min(o.backoff/2+rand.N(o.backoff/2+1), longest)
	o.resumes, o.decided = now.Add(wait), now
	o.cause = "the service is paused since it answered others: " + d.refusal(outcome, a).answer()
	if run == &o.failed || o.suspect {
		return false
	}
	o.suspect = true
	return true
}
