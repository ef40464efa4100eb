package webpush

import (
	"context"
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

// An answer is what came of one attempt.
type answer struct {
	status        int // 0 if none came
	location      string
	ttl           time.Duration // negative if not said
	retryAfter    time.Duration
	hasRetryAfter bool
	reason        string

	err     error // why no answer came
	written bool  // the service may have seen the request
}

// attempt makes one request, and calls connected, if it is not nil, when there
// is a connection for it. Redirects are not followed: a RoundTripper does not,
// and a 3xx answer is a refusal.
func (c *Client) attempt(ctx context.Context, sub *subscription, h Header, body []byte, connected func()) answer {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var written atomic.Bool
	trace := &httptrace.ClientTrace{WroteHeaders: func() { written.Store(true) }}
	if connected != nil {
		trace.GotConn = func(httptrace.GotConnInfo) { connected() }
	}
	ctx = httptrace.WithClientTrace(ctx, trace)
	response, err := c.transport.RoundTrip(newRequest(ctx, sub, h, body))
	if err != nil {
		return answer{err: err, written: written.Load()}
	}
	defer response.Body.Close()
	a := answer{status: response.StatusCode, location: response.Header.Get("Location"), ttl: -1, written: true}
	if ttl, ok := parseSeconds(response.Header.Get("TTL")); ok {
		a.ttl = ttl
	}
	if value := response.Header.Get("Retry-After"); value != "" {
		a.retryAfter, a.hasRetryAfter = parseRetryAfter(value, c.now())
	}
	a.reason = readReason(response, cancel)
	if a.status < 300 {
		a.reason = ""
	} else {
		a.reason = cleanText(a.reason, sub, h.Authorization)
	}
	return a
}

// readReason reads the first bytes of the answer and leaves the rest, however
// long or slow it is.
func readReason(response *http.Response, cancel func()) string {
	if response.Body == http.NoBody || response.ContentLength == 0 {
		return ""
	}
	timer := time.AfterFunc(bodyTimeout, cancel)
	defer timer.Stop()
	b, _ := io.ReadAll(io.LimitReader(response.Body, maxReasonBytes)) //nolint:errcheck // what came is enough
	return string(b)
}

// cleanText makes text fit for an error: valid, printable, on one line, without
// the endpoint or the token.
func cleanText(text string, sub *subscription, authorization string) string {
	text = strings.ReplaceAll(text, sub.endpoint, "[endpoint]")
	if path := sub.url.EscapedPath(); len(path) > 8 {
		text = strings.ReplaceAll(text, path, "[endpoint path]")
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
	return strings.TrimSpace(text)
}
