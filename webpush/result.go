package webpush

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// A Receipt says what the push service answered to a message that it accepted.
type Receipt struct {
	// Status is the HTTP status: 201, or another 2xx.
	Status int

	// Location is the message's own URL (RFC 8030 section 5), if the service gave one. A DELETE
	// there takes an undelivered message back.
	Location string

	// TTL is how long the service will keep the message; negative if it did not say.
	TTL time.Duration

	// Attempts is how many requests were made: 1 unless something failed first.
	Attempts int

	// MaybeDuplicate reports that an earlier attempt may have been taken too, as
	// [SendError.MaybeSent] says. The browser may get the message twice, unless it has a Topic.
	MaybeDuplicate bool

	// ServerKey is the VAPID public key that the service accepted. Where the ring has several and
	// the subscription did not say which ([WithServerKey]), store it with the subscription.
	ServerKey string
}

// An Outcome is how the sending of a message ended. Each is an error: errors.Is(err, webpush.Gone).
type Outcome uint8

// The outcomes. A push service is suspect when it refuses so many subscriptions in a row
// ([Limits.Refusals], [Limits.Gone]) that the mistake is probably ours (the key, the subject) or its
// own. It is paused, and its refusals are not final: delete nothing because of one. A broadcast asks
// again when the service has taken a message.
const (
	Accepted    Outcome = iota // the push service took it (2xx)
	Gone                       // 404 or 410: the subscription has ended, delete it
	TooLarge                   // 413, or longer than MaxMessageBytes and never sent
	RateLimited                // 429, or WNS's 406: send less, later
	Rejected                   // another 3xx or 4xx: it will not work as it is
	Unavailable                // 5xx
	Unreachable                // no answer
	Canceled                   // the context ended first
	Invalid                    // the subscription was refused here, and nothing sent: see the error
	Deferred                   // never sent: its push service is paused or too far behind; send it later
	KeyMismatch                // made with a VAPID key that is not in the ring: have the browser subscribe again
	Failed                     // not taken for a reason of ours: the client is closed, an option is wrong, or the clock
	Suspect                    // refused as everybody is, so perhaps by mistake: see below
)

var outcomeNames = [...]string{"accepted", "gone", "too large", "rate limited", "rejected", "unavailable", "unreachable", "canceled", "invalid", "deferred", "key mismatch", "failed", "suspect"}

func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return fmt.Sprintf("Outcome(%d)", uint8(o))
}

// Error is what String gives.
func (o Outcome) Error() string { return o.String() }

// A Result is the outcome of one message of a broadcast.
type Result struct {
	Receipt Receipt // filled in if Err is nil
	Err     error   // nil, or a [*SendError]

	// Index is the subscription's place in the sequence, from 0, or its number with
	// [Client.BroadcastIndexed].
	Index int64
}

// Outcome sorts the result.
func (r Result) Outcome() Outcome {
	if r.Err == nil {
		return Accepted
	}
	if e, ok := asType[*SendError](r.Err); ok {
		return e.Outcome
	}
	return Invalid
}

// A SendError says why a message was not accepted. errors.Is finds the outcome ([Gone] and so on)
// and the cause (such as context.Canceled). Its text never names the endpoint.
type SendError struct {
	Outcome Outcome

	Origin, Fingerprint string // see [Subscription]

	// Status is the HTTP status of the last answer, 0 if there was none.
	Status int

	// Reason is what the service said, up to 1024 printable bytes, without endpoint and token.
	Reason string

	// RetryAfter is how long the service asked to wait, or will still be paused; 0 if neither.
	RetryAfter time.Duration

	// FitsBytes is the longest message that would have fitted, without padding, if the outcome is
	// TooLarge; 0 if that is not known.
	FitsBytes int

	// Attempts is how many requests were made.
	Attempts int

	// MaybeSent reports that the service may still have taken the message: an attempt ended without
	// an answer after it was sent, or with a 500, 502 or 504. Sending again may show it twice.
	MaybeSent bool

	// Err is the cause, if it is not the service's answer. Its text has no secret either; what it
	// wraps may name the endpoint.
	Err error
}

func (e *SendError) Error() string {
	text := "webpush: send to " + e.Origin + " (subscription " + e.Fingerprint + "): "
	text += e.answer()
	switch {
	case e.Outcome == TooLarge && e.FitsBytes > 0 && e.Status != 0:
		text += fmt.Sprintf("; %d bytes without padding would fit", e.FitsBytes)
	case e.Outcome == Suspect:
		text += "; the service refuses everybody, so perhaps the key, the subject or the service is wrong: it is paused, and nothing is final"
	case e.Outcome == KeyMismatch:
		text += "; made with another VAPID key: the browser has to subscribe again"
	}
	return text
}

// answer is what came of the attempts.
func (e *SendError) answer() string {
	text := e.Outcome.String()
	if e.Status != 0 {
		text = fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status))
	}
	switch {
	case e.Attempts == 1:
		text += " after 1 attempt"
	case e.Attempts > 1:
		text += fmt.Sprintf(" after %d attempts", e.Attempts)
	}
	if e.MaybeSent {
		text += ", perhaps delivered anyway"
	}
	if e.Reason != "" {
		text += fmt.Sprintf(": %q", e.Reason)
	}
	if e.Err != nil {
		text += ": " + e.cause()
	}
	return text
}

// cause is the text of Err, or "".
func (e *SendError) cause() string {
	if e.Err == nil {
		return ""
	}
	return strings.TrimPrefix(e.Err.Error(), "webpush: ")
}

// Is reports whether target is the outcome.
func (e *SendError) Is(target error) bool { return target == error(e.Outcome) }

// Unwrap gives the cause.
func (e *SendError) Unwrap() error { return e.Err }

// asType is errors.AsType, which Go 1.25 does not have.
func asType[T error](err error) (T, bool) {
	var target T
	ok := errors.As(err, &target)
	return target, ok
}
