package webpush_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"postage/webpush"
	"postage/webpush/pushtest"
)

// several is a transport that picks another transport by the request's service.
func several(t *testing.T, services ...*pushtest.Server) http.RoundTripper {
	t.Helper()
	transports := make(map[string]*http.Transport)
	for _, s := range services {
		transport := s.Transport()
		t.Cleanup(transport.CloseIdleConnections)
		transports[strings.TrimPrefix(s.URL, "https://")] = transport
	}
	return roundTripper(func(r *http.Request) (*http.Response, error) { return transports[r.URL.Host].RoundTrip(r) })
}

// TestOneServiceHoldsNobodyUp has 300 messages for a service that misbehaves ahead
// of those for two that do not: theirs come out first.
func TestOneServiceHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]pushtest.Fault{
		"throttles": pushtest.Status(http.StatusTooManyRequests, "Retry-After", "2"),
		"fails":     pushtest.Status(http.StatusServiceUnavailable, "Retry-After", "2"),
		"stalls":    pushtest.Stall(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad, a, b := newService(t), newService(t), newService(t)
			for range 300 {
				bad.Inject(fault)
			}
			client := newClient(t, nil, webpush.Config{
				Transport: several(t, bad, a, b), Limits: webpush.Limits{Concurrency: 8}, Timeout: 3 * time.Second,
				Retry: webpush.Retry{Attempts: 2, Base: 50 * time.Millisecond, MaxRetryAfter: 5 * time.Second},
			})
			_, subs := audience(t, bad, 300)
			_, subsA := audience(t, a, 100)
			_, subsB := audience(t, b, 100)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			healthy, others := 0, 0
			for sub, result := range client.Broadcast(ctx, slices.Values(slices.Concat(subs, subsA, subsB)), nil, webpush.Options{}) {
				switch {
				case sub.Origin() != bad.URL:
					if healthy++; result.Err != nil {
						t.Error(result.Err)
					}
				case healthy < 200 && result.Err == nil:
					t.Error("the bad service took a message")
				default:
					others++
				}
				if healthy == 200 {
					cancel() // the rest comes out as it is
				}
			}
			if healthy != 200 || others != 300 {
				t.Errorf("%d of 200 and %d of 300 came out", healthy, others)
			}
			if n := bad.Requests(); n > 60 {
				t.Errorf("%d requests to the bad service while the others' 200 were sent", n)
			}
		})
	}
}

// tarpits is a transport to one service and any number of hosts that never answer.
func tarpits(service *pushtest.Server, transport http.RoundTripper, held *atomic.Int32) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if "https://"+r.URL.Host == service.URL {
			return transport.RoundTrip(r)
		}
		held.Add(1)
		defer held.Add(-1)
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
}

// TestTarpitsDoNotHoldAllSlots has a stranger subscribe at a hundred hosts that never
// answer, more than there are slots.
func TestTarpitsDoNotHoldAllSlots(t *testing.T) {
	t.Parallel()
	service := newService(t)
	transport := service.Transport()
	defer transport.CloseIdleConnections()
	var held atomic.Int32
	client := newClient(t, nil, webpush.Config{Transport: tarpits(service, transport, &held), Limits: webpush.Limits{Concurrency: 4}, Timeout: time.Hour})
	_, subs := audience(t, service, 40)
	var all []webpush.Subscription
	for i := range 50 {
		all = append(all, parse(t, bytes.Replace(service.Subscribe("").JSON(), []byte(service.URL), fmt.Appendf(nil, "https://tarpit%d.example", i), 1)))
	}
	accepted := 0
	for _, result := range client.Broadcast(t.Context(), slices.Values(append(all, subs...)), nil, webpush.Options{}) {
		if result.Err != nil {
			t.Error(result.Err)
		}
		if accepted++; accepted == len(subs) {
			break
		}
	}
	if held.Load() != 0 {
		t.Errorf("%d requests run on", held.Load())
	}
}

// TestLongRetryAfterIsObeyed has the service ask for an hour: next to nothing more is
// sent to it, by this broadcast or by Send, and everything comes out at once.
func TestLongRetryAfterIsObeyed(t *testing.T) {
	t.Parallel()
	service := newService(t)
	for range 500 {
		service.Inject(wnsThrottled(time.Hour))
	}
	// The first pause has not ended when Send is called, however slow the machine is.
	client := newClient(t, service, webpush.Config{Retry: webpush.Retry{Base: time.Minute, Max: time.Hour}, Limits: webpush.Limits{Patience: 30 * time.Second}})
	_, subs := audience(t, service, 500)
	counts := make(map[webpush.Outcome]int)
	for _, result := range client.Broadcast(t.Context(), slices.Values(subs), nil, webpush.Options{}) {
		counts[result.Outcome()]++
		if e := sendError(t, result.Err); e.RetryAfter < 59*time.Minute || (e.Outcome == webpush.Deferred && (e.Attempts != 0 || !errors.Is(e, webpush.Deferred))) {
			t.Errorf("%+v", e)
		}
	}
	requests := service.Requests()
	if requests > 20 || counts[webpush.Deferred] != 500-requests || counts[webpush.RateLimited] != requests {
		t.Errorf("%d requests, %v", requests, counts)
	}
	if e := sendError(t, sendTo(t, client, subs[0])); e.Outcome != webpush.Deferred || service.Requests() != requests {
		t.Errorf("%v, %d requests", e, service.Requests())
	}
}

// TestCircuitBreaker has a service fail and recover: while it fails little is sent to it, and
// afterwards everything.
func TestCircuitBreaker(t *testing.T) {
	t.Parallel()
	service := newService(t)
	transport := service.Transport()
	defer transport.CloseIdleConnections()
	var broken atomic.Bool
	var refused atomic.Int32
	broken.Store(true)
	client := newClient(t, nil, webpush.Config{
		Retry: webpush.Retry{Attempts: 10, Base: 20 * time.Millisecond, Max: 100 * time.Millisecond},
		Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			if broken.Load() {
				refused.Add(1)
				return nil, errors.New("connection refused")
			}
			return transport.RoundTrip(r)
		}),
	})
	browsers, subs := audience(t, service, 300)
	time.AfterFunc(500*time.Millisecond, func() { broken.Store(false) })
	for _, result := range client.Broadcast(t.Context(), slices.Values(subs), nil, webpush.Options{}) {
		if result.Err != nil {
			t.Error(result.Err)
		}
	}
	for _, b := range browsers {
		if n := len(b.Messages()); n != 1 {
			t.Errorf("%d messages", n)
		}
	}
	if n := refused.Load(); n > 100 {
		t.Errorf("%d requests to a service that was down for half a second", n)
	}
}

// TestBacklogIsBounded streams subscriptions of a service that never answers: no more
// of them are kept than the backlog, and another service's get through.
func TestBacklogIsBounded(t *testing.T) {
	t.Parallel()
	service := newService(t)
	transport := service.Transport()
	defer transport.CloseIdleConnections()
	var held atomic.Int32
	client := newClient(t, nil, webpush.Config{Transport: tarpits(service, transport, &held), Limits: webpush.Limits{Backlog: 40}, Timeout: 4 * time.Second})
	stuck := parse(t, bytes.Replace(service.Subscribe("").JSON(), []byte(service.URL), []byte("https://tarpit.example"), 1))
	_, subs := audience(t, service, 100)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	given := 0
	sequence := func(yield func(webpush.Subscription) bool) {
		for i := range 2000 {
			sub := stuck
			if i%20 == 0 {
				sub = subs[i/20]
			}
			if given++; !yield(sub) {
				return
			}
		}
	}
	out, accepted, deferred := 0, 0, 0
	for _, result := range client.Broadcast(ctx, iter.Seq[webpush.Subscription](sequence), nil, webpush.Options{}) {
		out++
		if given-out > 41 {
			t.Fatalf("%d subscriptions are held", given-out)
		}
		switch result.Outcome() {
		case webpush.Accepted:
			accepted++
		case webpush.Deferred:
			deferred++
		}
		if accepted == 100 {
			cancel()
		}
	}
	if accepted != 100 || deferred < 1500 || out != 2000 {
		t.Errorf("%d came out: %d accepted, %d deferred", out, accepted, deferred)
	}
}

// TestRate counts a second's requests.
func TestRate(t *testing.T) {
	t.Parallel()
	service := newService(t)
	client := newClient(t, service, webpush.Config{Limits: webpush.Limits{Rate: 50}})
	_, subs := audience(t, service, 40)
	start := time.Now()
	for _, result := range client.Broadcast(t.Context(), slices.Values(subs), nil, webpush.Options{}) {
		if result.Err != nil {
			t.Error(result.Err)
		}
	}
	if elapsed := time.Since(start); elapsed < 600*time.Millisecond { // 40 at 50 a second, a few of them at once
		t.Errorf("40 messages in %s at 50 a second", elapsed)
	}
}

// TestOnGone deletes subscriptions that are gone.
func TestOnGone(t *testing.T) {
	service := newService(t)
	var mu sync.Mutex
	var ended []string
	client := newClient(t, service, webpush.Config{
		OnGone: func(_ context.Context, sub webpush.Subscription) {
			mu.Lock()
			defer mu.Unlock()
			ended = append(ended, sub.Endpoint())
		},
	})
	browsers, subs := audience(t, service, 3)
	browsers[0].Inject(pushtest.Status(429))
	browsers[1].Unsubscribe()
	browsers[2].Unsubscribe()
	for range client.Broadcast(t.Context(), slices.Values(subs[:2]), []byte("x"), webpush.Options{}) {
	}
	_ = sendTo(t, client, subs[2])
	if !slices.Equal(ended, []string{subs[1].Endpoint(), subs[2].Endpoint()}) {
		t.Errorf("%d gone", len(ended))
	}
}

// TestTimeoutOfOne has one request after another share a context: when it ends because
// one is not answered, the next are not touched, and the error says "deadline".
func TestTimeoutOfOne(t *testing.T) {
	t.Parallel()
	service := newService(t)
	browsers, subs := audience(t, service, 10)
	browsers[2].Inject(pushtest.Stall())
	browsers[7].Inject(pushtest.Stall())
	client := newClient(t, service, webpush.Config{Limits: webpush.Limits{Concurrency: 1}, Timeout: 2 * time.Second, Retry: webpush.Retry{Attempts: 1}})
	accepted := 0
	for sub, result := range client.Broadcast(t.Context(), slices.Values(subs), []byte("hello"), webpush.Options{}) {
		stalls := slices.Index(subs, sub)%5 == 2
		if result.Err == nil {
			accepted++
		}
		if stalls != (result.Outcome() == webpush.Unreachable) || stalls && (!errors.Is(result.Err, context.DeadlineExceeded) || errors.Is(result.Err, context.Canceled)) {
			t.Errorf("%d: %v", slices.Index(subs, sub), result.Err)
		}
	}
	if accepted != 8 {
		t.Errorf("%d accepted, want 8", accepted)
	}
}

// TestContextOfAnyTransport gives a transport that is not net/http's what it had of a
// context with a timeout: a deadline, and an end with each request.
func TestContextOfAnyTransport(t *testing.T) {
	t.Parallel()
	subs := strangers(t, 3)
	var before context.Context
	client := newClient(t, nil, webpush.Config{Timeout: time.Hour, Limits: webpush.Limits{Concurrency: 1}, Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		if deadline, ok := r.Context().Deadline(); !ok || time.Until(deadline) > time.Hour || time.Until(deadline) < 50*time.Minute {
			t.Errorf("deadline %v, %v", deadline, ok)
		}
		if r.Context().Err() != nil || before != nil && before.Err() == nil {
			t.Errorf("this request's context: %v; the one before's: %v", r.Context().Err(), before.Err())
		}
		before = r.Context()
		return &http.Response{StatusCode: http.StatusCreated, Body: http.NoBody}, nil
	})})
	n := 0
	for _, result := range client.Broadcast(t.Context(), slices.Values(subs), []byte("hello"), webpush.Options{}) {
		if result.Err != nil {
			t.Error(result.Err)
		}
		n++
	}
	if n != 3 || before.Err() == nil {
		t.Errorf("%d results; the last request's context: %v", n, before.Err())
	}
	// It fails with what the context says, and the error says which end that was.
	client = newClient(t, nil, webpush.Config{Timeout: time.Millisecond, Retry: webpush.Retry{Attempts: 1}, Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})})
	if _, err := client.Send(t.Context(), subs[0], []byte("hello"), webpush.Options{}); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestAnyNumbers broadcasts with numbers in any order, of any size.
func TestAnyNumbers(t *testing.T) {
	service := newService(t)
	_, subs := audience(t, service, 40)
	for name, numbers := range map[string][]int64{
		"in order":   {0, 1, 2, 3},
		"a gap":      {7, 1 << 33, 1<<33 + 1},
		"snowflakes": {1541815603606036480, 1541815603606036481, 1741815603606036480, math.MaxInt64},
		"negative":   {-1, -5, math.MinInt64, 3},
		"backwards":  {39, 17, 16, 0},
		"shuffled":   {64, 3, 200, 65, 64 * 7, 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			client := newClient(t, service, webpush.Config{Limits: webpush.Limits{Concurrency: 3}})
			var out []int64
			sequence := func(yield func(int64, webpush.Subscription) bool) {
				for i, number := range numbers {
					if !yield(number, subs[i]) {
						return
					}
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			for sub, result := range client.BroadcastIndexed(ctx, sequence, nil, webpush.Options{}) {
				if result.Err != nil || sub != subs[slices.Index(numbers, result.Index)] {
					t.Errorf("%d: %v", result.Index, result.Err)
				}
				out = append(out, result.Index)
			}
			if slices.Sort(out); !slices.Equal(out, slices.Sorted(slices.Values(numbers))) {
				t.Errorf("%d came out of %d", out, numbers)
			}
		})
	}
}
