package webpush

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
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
	throttled     bool // it says "too many", whatever the status
	otherKey      bool // it says that the subscription was made with another key
	reason        string

	err     error // why no answer came
	written bool  // the service may have seen the request
}

// attempt makes one request, within limit. Redirects are not followed: a RoundTripper
// does not, and a 3xx answer is a refusal.
func (c *Client) attempt(limit *timeLimit, sub Subscription, h Header, body []byte) answer {
	ctx := limit.start(c.timeout)
	defer limit.stop()
	var trace *writeTrace
	if _, ok := c.transport.(*http.Transport); !ok { // it may read the deadline, or keep working until the context ends
		defer limit.end()
		trace = new(writeTrace)
		ctx = trace.in(deadlineContext{ctx, limit.until})
	}
	request, sent := newRequest(ctx, sub, h, body)
	response, err := c.transport.RoundTrip(request)
	if err != nil {
		if cause := context.Cause(ctx); cause == context.DeadlineExceeded && errors.Is(err, context.Canceled) {
			err = cause
		}
		// A message whose body was not read to its end cannot have been taken.
		return answer{err: err, written: sent.stop() && trace.written()}
	}
	defer response.Body.Close()
	a := answer{status: response.StatusCode, location: response.Header.Get("Location"), ttl: -1, written: true}
	if ttl, ok := parseSeconds(response.Header.Get("Ttl")); ok {
		a.ttl = ttl
	}
	if value := response.Header.Get("Retry-After"); value != "" {
		a.retryAfter, a.hasRetryAfter = parseRetryAfter(value, c.now())
	}
	if a.status < 300 {
		readReason(response, limit)
		return a
	}
	a.throttled = isThrottled(response, a.hasRetryAfter)
	text := readReason(response, limit)
	a.otherKey = isOtherKey(a.status, text)
	a.reason = cleanText(text, sub, h.Authorization, maxReasonBytes)
	return a
}

// isThrottled knows the answers that mean "too many". WNS says 406 where others
// say 429: learn.microsoft.com, "Push notification service request and response
// headers". A 406 without a sign of that is another refusal.
func isThrottled(r *http.Response, hasRetryAfter bool) bool {
	return r.StatusCode == http.StatusTooManyRequests ||
		r.StatusCode == http.StatusNotAcceptable && (hasRetryAfter || strings.Contains(strings.ToLower(r.Header.Get("X-Wns-Status")), "throttled"))
}

// isOtherKey knows the answers that say that a subscription was made with another
// key: Apple's, with a status of 400, and Google's.
func isOtherKey(status int, text string) bool {
	return status >= 400 && status < 404 &&
		(strings.Contains(text, "VapidPkHashMismatch") || strings.Contains(text, "do not correspond to the credentials used to create"))
}

// readReason reads the first bytes of the answer and leaves the rest, however
// long or slow it is. It reads on beyond maxReasonBytes by the length of an
// endpoint, so that no part of one is left when the text is cut.
func readReason(response *http.Response, limit *timeLimit) string {
	if response.Body == http.NoBody || response.ContentLength == 0 {
		return ""
	}
	limit.shorten(bodyTimeout)
	b, _ := io.ReadAll(io.LimitReader(response.Body, maxReasonBytes+maxEndpointBytes)) //nolint:errcheck // a partial body is enough
	return string(b)
}

// A writeTrace tells whether a request whose body was read went out. http.Transport
// reads the body when it has written what comes before it; another RoundTripper may
// read it ahead and then fail to connect. nil is http.Transport's.
type writeTrace struct{ headersWritten, traced atomic.Bool }

// in gives a context with the trace.
func (t *writeTrace) in(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:      func(string) { t.traced.Store(true) },
		WroteHeaders: func() { t.headersWritten.Store(true) },
	})
}

// written assumes that a RoundTripper which does not trace has sent the request.
func (t *writeTrace) written() bool {
	return t == nil || t.headersWritten.Load() || !t.traced.Load()
}

// cleanText makes text fit for an error: valid, printable, on one line, at most
// so long, without the endpoint, its path, its query, or the token.
func cleanText(text string, sub Subscription, authorization string, maxBytes int) string {
	for _, secret := range sub.secrets() {
		text = strings.ReplaceAll(text, secret, "[endpoint]")
	}
	if token, _, ok := strings.Cut(strings.TrimPrefix(authorization, "vapid t="), ","); ok && token != "" {
		text = strings.ReplaceAll(text, token, "[token]")
	}
	text = strings.ToValidUTF8(text, "?")
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text)
	text = strings.TrimSpace(text)
	if len(text) > maxBytes {
		text = strings.TrimSpace(strings.ToValidUTF8(text[:maxBytes], ""))
	}
	return text
}

// secrets lists what of the endpoint must not be shown, the longest first: all of
// it, path and query together and each alone, the last segment of the path, the
// values of the query, and each of these unescaped.
func (s Subscription) secrets() []string {
	u, err := url.Parse(s.Endpoint())
	if err != nil {
		return nil // impossible: it was parsed when the subscription was made
	}
	path := u.EscapedPath()
	parts := []string{u.String(), s.Endpoint(), u.RequestURI(), path, path[strings.LastIndexByte(path, '/')+1:], u.RawQuery}
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		_, value, _ := strings.Cut(pair, "=")
		parts = append(parts, value)
	}
	for _, part := range parts {
		if plain, err := url.PathUnescape(part); err == nil {
			parts = append(parts, plain)
		}
		if plain, err := url.QueryUnescape(part); err == nil {
			parts = append(parts, plain)
		}
	}
	parts = slices.DeleteFunc(parts, func(part string) bool { return len(part) <= 8 })
	slices.SortFunc(parts, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(parts)
}
