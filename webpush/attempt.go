package webpush

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"
)

const (
	maxReasonBytes = 1024
	bodyTimeout    = 5 * time.Second // for the rest of an answer once its status is here
)

// An answer is the outcome of one attempt.
type answer struct {
	status        int // 0 if none came
	location      string
	ttl           time.Duration // negative if not said
	retryAfter    time.Duration
	hasRetryAfter bool
	throttled     bool  // it says "too many", whatever the status
	otherKey      bool  // it says that the subscription was made with another key
	clock         error // why the token could not be taken
	reason        string

	err     error // why no answer came, without secrets
	written bool  // the service may have seen the request
}

// attempt makes one request, within limit. Redirects are not followed: a RoundTripper
// does not, and a 3xx answer is a refusal.
func (c *Client) attempt(limit *timeLimit, sub Subscription, h Header, body []byte) answer {
	ctx := limit.start(c.cfg.Timeout)
	defer limit.stop()
	var trace *writeTrace
	if _, ok := c.cfg.Transport.(*http.Transport); !ok || len(body) == 0 { // it may read the deadline, or keep working until the context ends; and no body tells nothing
		defer limit.end()
		trace = new(writeTrace)
		ctx = httptrace.WithClientTrace(deadlineContext{ctx, limit.deadline}, &httptrace.ClientTrace{
			GetConn:      func(string) { trace.traced.Store(true) },
			WroteHeaders: func() { trace.headersWritten.Store(true) },
		})
	}
	request, sent := newRequest(ctx, sub, h, body)
	response, err := c.cfg.Transport.RoundTrip(request)
	if err != nil {
		if cause := context.Cause(ctx); cause == context.DeadlineExceeded && errors.Is(err, context.Canceled) {
			err = cause
		}
		// A message whose body was not read to its end cannot have been taken.
		return answer{err: &cleanError{cleanText(err.Error(), sub), err}, written: sent.stop() && trace.written()}
	}
	defer response.Body.Close()
	a := answer{status: response.StatusCode, location: response.Header.Get("Location"), ttl: -1, written: true}
	if ttl, ok := parseSeconds(response.Header.Get("Ttl")); ok {
		a.ttl = ttl
	}
	if value := response.Header.Get("Retry-After"); value != "" {
		now, err := http.ParseTime(response.Header.Get("Date")) // a date is by the service's clock
		if err != nil {
			now = c.cfg.now()
		}
		a.retryAfter, a.hasRetryAfter = parseRetryAfter(value, now)
	}
	if a.status < 300 {
		readReason(response, limit)
		return a
	}
	a.throttled = isThrottled(response, a.hasRetryAfter)
	text := cmp.Or(response.Header.Get("X-Wns-Error-Description"), readReason(response, limit))
	a.otherKey = isOtherKey(a.status, text)
	a.reason = cleanText(text, sub)
	if a.status >= 400 && a.status <= 403 {
		a.clock = c.checkClock(response, h.expires)
	}
	return a
}

// isThrottled knows the answers that mean "too many". WNS says 406 where others say 429
// (learn.microsoft.com, "Push notification service request and response headers").
func isThrottled(r *http.Response, hasRetryAfter bool) bool {
	return r.StatusCode == http.StatusTooManyRequests ||
		r.StatusCode == http.StatusNotAcceptable && (hasRetryAfter || strings.Contains(strings.ToLower(r.Header.Get("X-Wns-Status")), "throttled"))
}

// isOtherKey knows the answers that say that a subscription was made with another
// key: Apple's, with a status of 400, Google's and Mozilla's.
func isOtherKey(status int, text string) bool {
	return status >= 400 && status < 404 &&
		(strings.Contains(text, "VapidPkHashMismatch") || strings.Contains(text, "VAPID public key mismatch") || strings.Contains(text, "do not correspond to the credentials used to create"))
}

// checkClock reports whether a refused token was one that the service could not take by its own
// clock (RFC 8292 section 2: expired, or for more than 24 hours).
func (c *Client) checkClock(response *http.Response, expires int64) error {
	theirs, err := http.ParseTime(response.Header.Get("Date"))
	left := time.Unix(expires, 0).Sub(theirs)
	if err != nil || left > 0 && left <= maxTokenLife {
		return nil
	}
	offset, direction := c.cfg.now().Sub(theirs).Round(time.Minute), "ahead of"
	if offset < 0 {
		direction = "behind"
	}
	return fmt.Errorf("webpush: this machine's clock is %s %s the push service's, so that our token is not valid there", offset.Abs(), direction)
}

// readReason reads the first bytes of the answer and leaves the rest, however long or slow it is.
func readReason(response *http.Response, limit *timeLimit) string {
	if response.Body == http.NoBody || response.ContentLength == 0 {
		return ""
	}
	limit.shorten(bodyTimeout)
	b, _ := io.ReadAll(io.LimitReader(response.Body, maxReasonBytes)) //nolint:errcheck // a partial body is enough
	return string(b)
}

// A writeTrace tells whether a request whose body was read went out. http.Transport
// reads the body when it has written what comes before it; another RoundTripper may
// read it ahead and then fail to connect. nil is http.Transport's.
type writeTrace struct{ headersWritten, traced atomic.Bool }

// written assumes that a RoundTripper which does not trace has sent the request.
func (t *writeTrace) written() bool {
	return t == nil || t.headersWritten.Load() || !t.traced.Load()
}
