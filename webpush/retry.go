package webpush

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Retry says when a message is sent again: after 429 (and 406 where it means the same), 503 and
// other 5xx that took nothing, and failures to connect. The wait doubles each time, with up to half
// of it random, unless the service says how long (Retry-After, RFC 9110 section 10.2.3). No attempt
// begins later than the message's TTL after the first.
type Retry struct {
	// Attempts is the most requests for one message with one key of the ring; 0 is 3.
	Attempts int

	// Base is the wait before the second attempt, and Max the longest wait of
	// our own choosing; 0 are 500 ms and 30 s.
	Base, Max time.Duration

	// MaxRetryAfter is how long Send waits if the service asks for it; 0 is 30 s. If it asks for
	// more, the message fails at once. In a broadcast [Limits.Patience] decides.
	MaxRetryAfter time.Duration

	// AfterWrite also tries again when the service may have taken the message already
	// ([SendError.MaybeSent]). The browser may then get it twice; [Receipt.MaybeDuplicate] says so.
	AfterWrite bool
}

func (r Retry) withDefaults() (Retry, error) {
	if r.Attempts < 0 || r.Base < 0 || r.Max < 0 || r.MaxRetryAfter < 0 {
		return r, errors.New("webpush: retry: a setting is negative")
	}
	r.Attempts, r.Base = cmp.Or(r.Attempts, 3), cmp.Or(r.Base, 500*time.Millisecond)
	r.Max, r.MaxRetryAfter = cmp.Or(r.Max, 30*time.Second), cmp.Or(r.MaxRetryAfter, 30*time.Second)
	return r, nil
}

// wait is the pause before the next attempt after this many, or false if there is to be none. The
// service may ask for the longest at most.
func (r *Retry) wait(attempts int, a *answer, longest time.Duration) (time.Duration, bool) {
	if attempts >= r.Attempts {
		return 0, false
	}
	if a.hasRetryAfter {
		return a.retryAfter + rand.N(r.Base/4+1), a.retryAfter <= longest
	}
	backoff := min(r.Base<<min(attempts-1, 20), r.Max)
	if backoff <= 0 {
		backoff = r.Max
	}
	return backoff/2 + rand.N(backoff/2+1), true
}

// sleep waits for d. It fails at once if ctx's deadline is earlier.
func sleep(ctx context.Context, d time.Duration) error {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < d {
		return context.DeadlineExceeded
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// maxDelaySeconds keeps a delay within a time.Duration: about 68 years.
const maxDelaySeconds = 1<<31 - 1

// parseRetryAfter reads Retry-After: seconds or an HTTP date (RFC 9110 section 10.2.3). Any other
// value is ignored.
func parseRetryAfter(value string, now time.Time) (time.Duration, bool) {
	value = strings.TrimSpace(value)
	if seconds, ok := parseSeconds(value); ok {
		return seconds, true
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	return min(max(at.Sub(now.Round(0)), 0), maxDelaySeconds*time.Second), true
}

// parseSeconds reads a delta-seconds (RFC 9111 section 1.2.2); one too large
// to hold is the largest.
func parseSeconds(value string) (time.Duration, bool) {
	if value == "" || strings.Trim(value, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n > maxDelaySeconds {
		n = maxDelaySeconds
	}
	return time.Duration(n) * time.Second, true
}
