package webpush

import "errors"

// What callers branch on, with errors.Is. [SendError] says more.
var (
	// ErrGone: the subscription has ended (404 or 410). Delete it.
	ErrGone = errors.New("webpush: the subscription is gone")
	// ErrTooLarge: the message is longer than can be sent (413, or refused before sending).
	ErrTooLarge = errors.New("webpush: the message is too large")
	// ErrRateLimited: the push service wants fewer messages (429, or WNS's 406). See
	// [SendError.RetryAfter].
	ErrRateLimited = errors.New("webpush: rate limited")
	// ErrKeyMismatch: the subscription was made with a VAPID key that is not in the
	// ring. Put the key back ([KeyRing]) or have the browser subscribe again.
	ErrKeyMismatch = errors.New("webpush: the subscription was made with another VAPID key")
	// ErrDeferred: the message was not sent, because its push service is throttling or
	// failing. See [SendError.RetryAfter].
	ErrDeferred = errors.New("webpush: deferred: the push service is paused")
	// ErrRejected: the push service refused the request (any other 3xx or 4xx).
	ErrRejected = errors.New("webpush: rejected by the push service")
	// ErrUnavailable: the push service failed (5xx).
	ErrUnavailable = errors.New("webpush: the push service is unavailable")
	// ErrUnreachable: no answer came: no connection, it broke, or it took too long.
	ErrUnreachable = errors.New("webpush: no answer from the push service")
)
