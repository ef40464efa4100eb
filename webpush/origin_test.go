package webpush_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"postage/webpush"
	"postage/webpush/pushtest"
)

// strangers makes subscriptions at one origin.
func strangers(t testing.TB, n int) []webpush.Subscription {
	t.Helper()
	subs := make([]webpush.Subscription, n)
	for i := range subs {
		sub, err := webpush.NewSubscription(fmt.Sprintf("https://push.example/%d", i), webpush.TestP256dh, webpush.TestAuth)
		if err != nil {
			t.Fatal(err)
		}
		subs[i] = sub
	}
	return subs
}

func answerWithBody(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}
}

func answerWith(status int, header ...string) *http.Response {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: http.NoBody}
}

// TestNoPauseIsForEver has a service name absurd times to come back. It recovers in a minute: an
// hour later, messages get through.
func TestNoPauseIsForEver(t *testing.T) {
	subs := strangers(t, 40)
	for name, c := range map[string]struct {
		status     int
		retryAfter string
		clock      time.Duration
	}{
		"429, seconds":            {429, "99999999999", 0},
		"429, the year 9999":      {429, "Fri, 31 Dec 9999 23:59:59 GMT", 0},
		"503, seconds":            {503, "99999999999", 0},
		"503, the year 9999":      {503, "Fri, 31 Dec 9999 23:59:59 GMT", 0},
		"429, no time":            {429, "0", 0},
		"429, a time gone by":     {429, "Fri, 31 Dec 1999 00:00:00 GMT", 0},
		"503, a time gone by":     {503, "Fri, 31 Dec 1999 00:00:00 GMT", 0},
		"429, our clock set back": {429, "Sat, 01 Jan 2000 00:01:00 GMT", -20 * 365 * 24 * time.Hour}, // a bubble of synctest begins in the year 2000
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				requests, refused := 0, 0
				client := newClient(t, nil, webpush.Config{
					Retry: webpush.Retry{Attempts: 3}, // the default
					Transport: roundTripper(func(*http.Request) (*http.Response, error) {
						if requests++; time.Since(begun) < time.Minute {
							refused++
							return answerWith(c.status, "Retry-After", c.retryAfter), nil
						}
						return answerWith(201), nil
					}),
				}.WithClock(func() time.Time { return time.Now().Add(c.clock) }))
				for _, sub := range subs {
					_ = sendTo(t, client, sub)
				}
				if refused > 30 {
					t.Errorf("%d requests to a service that takes nothing", refused)
				}
				time.Sleep(time.Hour)
				before := requests
				if err := sendTo(t, client, subs[0]); err != nil || requests != before+1 {
					t.Errorf("an hour later: %v", err)
				}
			})
		})
	}
}

// TestNoAttemptAfterTTL has a service take nothing for longer than the messages live. Each attempt
// says what is left of the TTL, and none is made when nothing is.
func TestNoAttemptAfterTTL(t *testing.T) {
	subs := strangers(t, 40)
	opts := webpush.Options{TTL: 5 * time.Second}
	for name, send := range map[string]func(context.Context, *webpush.Client) iter.Seq2[webpush.Subscription, webpush.Result]{
		"Broadcast": func(ctx context.Context, c *webpush.Client) iter.Seq2[webpush.Subscription, webpush.Result] {
			return c.Broadcast(ctx, slices.Values(subs), nil, opts)
		},
		"Send": func(ctx context.Context, c *webpush.Client) iter.Seq2[webpush.Subscription, webpush.Result] {
			return func(yield func(webpush.Subscription, webpush.Result) bool) {
				var wg sync.WaitGroup
				results := make([]webpush.Result, len(subs))
				for i, sub := range subs {
					wg.Go(func() { results[i].Receipt, results[i].Err = c.Send(ctx, sub, nil, opts) })
				}
				wg.Wait()
				for i, sub := range subs {
					yield(sub, results[i])
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				var mu sync.Mutex
				first := make(map[string]time.Time)
				client := newClient(t, nil, webpush.Config{
					Retry: webpush.Retry{Attempts: 20, Max: 100 * time.Millisecond},
					Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
						mu.Lock()
						defer mu.Unlock()
						now := time.Now()
						if _, ok := first[r.URL.Path]; !ok {
							first[r.URL.Path] = now
						}
						age := now.Sub(first[r.URL.Path])
						left := (opts.TTL - age + time.Second - 1) / time.Second
						if got := r.Header.Get("TTL"); age >= opts.TTL || got != fmt.Sprint(int(left)) {
							t.Errorf("%s: TTL %s, %s after the first attempt", r.URL.Path, got, age)
						}
						if now.Sub(begun) < 10*time.Second {
							return answerWith(503), nil
						}
						return answerWith(201), nil
					}),
				})
				counts := make(map[webpush.Outcome]int)
				for _, result := range send(t.Context(), client) {
					counts[result.Outcome()]++
				}
				if n := counts[webpush.Unavailable]; n < 6 || n+counts[webpush.Accepted] != len(subs) {
					t.Errorf("%v, want six unavailable or more, and the others accepted", counts)
				}
			})
		})
	}
}

// TestNextKeyAfterTTL has a refusal come after the message's TTL: the next key is tried all the
// same, with nothing left.
func TestNextKeyAfterTTL(t *testing.T) {
	older, err := webpush.GenerateVAPIDKeys()
	if err != nil {
		t.Fatal(err)
	}
	sub := strangers(t, 1)[0]
	synctest.Test(t, func(t *testing.T) {
		var ttls []string
		client := newClient(t, nil, webpush.Config{Keys: newRing(t, older), Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			time.Sleep(6 * time.Second)
			if ttls = append(ttls, r.Header.Get("TTL")); len(ttls) == 1 {
				return answerWith(403), nil
			}
			return answerWith(201), nil
		})})
		if _, err := client.Send(t.Context(), sub, nil, webpush.Options{TTL: 5 * time.Second}); err != nil || !slices.Equal(ttls, []string{"5", "0"}) {
			t.Errorf("%v, TTLs %s", err, ttls)
		}
	})
}

// TestThrottledDevices has a service throttle single devices, side by side: the others' messages
// are taken.
func TestThrottledDevices(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		throttled, from, healthy int
		base                     time.Duration // of a pause; with a minute, one pause is too long to wait for
	}{
		"8 at the beginning": {8, 0, 2000, time.Minute}, "8 in the middle": {8, 1000, 2000, time.Minute}, "200 at the beginning": {200, 0, 2000, 10 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newService(t)
			browsers, subs := audience(t, service, c.throttled+c.healthy)
			for _, b := range browsers[c.from : c.from+c.throttled] {
				b.Inject(slices.Repeat([]pushtest.Fault{pushtest.Status(429, "Retry-After", "3600")}, 50)...)
			}
			client := newClient(t, service, webpush.Config{Retry: webpush.Retry{Base: c.base}})
			counts := make(map[webpush.Outcome]int)
			for _, result := range client.Broadcast(t.Context(), slices.Values(subs), nil, webpush.Options{}) {
				counts[result.Outcome()]++
			}
			if counts[webpush.Accepted] != c.healthy || counts[webpush.RateLimited] != c.throttled {
				t.Errorf("%v; want %d accepted, %d rate limited, none deferred", counts, c.healthy, c.throttled)
			}
		})
	}
}

// TestOneThrottledDevice sends to it often: that says nothing about the others.
func TestOneThrottledDevice(t *testing.T) {
	subs := strangers(t, 2)
	synctest.Test(t, func(t *testing.T) {
		var requests atomic.Int32
		client := newClient(t, nil, webpush.Config{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			if requests.Add(1); r.URL.Path == "/0" {
				return answerWith(429), nil
			}
			return answerWith(201), nil
		})})
		for range 10 {
			_ = sendTo(t, client, subs[0])
		}
		before := requests.Load()
		start := time.Now()
		if err := sendTo(t, client, subs[1]); err != nil || requests.Load() != before+1 || time.Since(start) != 0 {
			t.Errorf("the other: %v after %s", err, time.Since(start))
		}
		if before != 30 {
			t.Errorf("%d requests for 10 messages", before)
		}
	})
}
