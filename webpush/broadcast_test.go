package webpush_test

import (
	"context"
	"errors"
	"iter"
	"net"
	"net/http"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"postage/webpush"
	"postage/webpush/pushtest"
)

// audience subscribes n browsers and gives their subscriptions.
func audience(t testing.TB, service *pushtest.Server, n int) ([]*pushtest.Browser, []webpush.Subscription) {
	t.Helper()
	browsers := make([]*pushtest.Browser, n)
	subs := make([]webpush.Subscription, n)
	for i := range n {
		browsers[i] = service.Subscribe("")
		subs[i] = parse(t, browsers[i].JSON())
	}
	return browsers, subs
}

// TestBroadcast sends to browsers that end in every way, and accounts for each.
func TestBroadcast(t *testing.T) {
	service := newService(t)
	client := newClient(t, service, webpush.Config{Reuse: webpush.SharedKey(time.Hour), Limits: webpush.Limits{Concurrency: 8}})
	browsers, subs := audience(t, service, 200)
	want := make(map[string]webpush.Outcome)
	for i, b := range browsers {
		want[subs[i].Fingerprint()] = webpush.Accepted
		switch i % 10 {
		case 0:
			b.Unsubscribe()
			want[subs[i].Fingerprint()] = webpush.Gone
		case 1:
			b.Inject(pushtest.Status(http.StatusServiceUnavailable))
		case 2:
			b.Inject(pushtest.Status(http.StatusTooManyRequests, "Retry-After", "3600"))
			want[subs[i].Fingerprint()] = webpush.RateLimited
		case 3:
			b.Inject(pushtest.Reset())
			want[subs[i].Fingerprint()] = webpush.Unreachable
		}
	}
	for sub, result := range client.Broadcast(t.Context(), slices.Values(subs), []byte("to all"), webpush.Options{}) {
		outcome, ok := want[sub.Fingerprint()]
		if !ok {
			t.Errorf("%s: yielded twice", sub)
		}
		if result.Outcome() != outcome {
			t.Errorf("%s: %s (%v), want %s", sub, result.Outcome(), result.Err, outcome)
		}
		delete(want, sub.Fingerprint())
	}
	if len(want) != 0 {
		t.Errorf("%d subscriptions are not accounted for", len(want))
	}
	keys := make(map[string]bool)
	for _, b := range browsers {
		for _, m := range b.Messages() {
			keys[string(m.Body[21:86])] = true
			if m.Err != nil || string(m.Data) != "to all" {
				t.Errorf("%q, %v", m.Data, m.Err)
			}
		}
	}
	if len(keys) != 1 {
		t.Errorf("%d keys in one broadcast", len(keys))
	}
}

// TestBroadcastIsBounded watches how many requests are under way at once, and
// that messages which wait to be tried again, for ten seconds at least, do not hold others up.
func TestBroadcastIsBounded(t *testing.T) {
	t.Parallel()
	service := newService(t)
	var running, most atomic.Int32
	transport := service.Transport()
	client := newClient(t, service, webpush.Config{Limits: webpush.Limits{Concurrency: 4}, Retry: webpush.Retry{Base: 20 * time.Second, Max: 20 * time.Second},
		Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			n := running.Add(1)
			defer running.Add(-1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			return transport.RoundTrip(r)
		})})
	browsers, subs := audience(t, service, 60)
	for i := range 8 {
		browsers[5*i].Inject(pushtest.Status(503))
	}
	var order []int
	for sub, result := range client.Broadcast(t.Context(), slices.Values(subs), nil, webpush.Options{}) {
		if result.Err != nil {
			t.Error(result.Err)
		}
		order = append(order, slices.Index(subs, sub))
	}
	if most.Load() > 4 {
		t.Errorf("%d requests at once, at most 4", most.Load())
	}
	if len(order) != 60 || slices.ContainsFunc(order[52:], func(i int) bool { return i%5 != 0 || i > 35 }) {
		t.Errorf("those that waited held up the others: %v", order)
	}
	transport.CloseIdleConnections()
}

// TestBroadcastSharesItsConnection counts the connections of a broadcast that
// starts with none.
func TestBroadcastSharesItsConnection(t *testing.T) {
	service := newService(t)
	transport := service.Transport()
	defer transport.CloseIdleConnections()
	var dials atomic.Int32
	dialer := new(net.Dialer)
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		dials.Add(1)
		return dialer.DialContext(ctx, network, address)
	}
	client := newClient(t, service, webpush.Config{Transport: transport})
	_, subs := audience(t, service, 100)
	for _, result := range client.Broadcast(t.Context(), slices.Values(subs), nil, webpush.Options{}) {
		if result.Err != nil {
			t.Error(result.Err)
		}
	}
	if n := dials.Load(); n > 2 {
		t.Errorf("%d connections, where one would do", n)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestBroadcastCanceled cancels in the middle: every subscription is accounted for, including those
// not yet taken from the sequence. What is under way is finished, within the timeout.
func TestBroadcastCanceled(t *testing.T) {
	service := newService(t)
	client := newClient(t, service, webpush.Config{Limits: webpush.Limits{Concurrency: 4}, Timeout: 2 * time.Second})
	browsers, subs := audience(t, service, 100)
	for i, b := range browsers[20:30] {
		b.Inject([]pushtest.Fault{pushtest.Stall(), pushtest.Slow(time.Second)}[i%2])
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	counts := make(map[webpush.Outcome]int)
	for sub, result := range client.Broadcast(ctx, slices.Values(subs), nil, webpush.Options{}) {
		counts[result.Outcome()]++
		i := slices.Index(subs, sub)
		if e, ok := webpush.AsType[*webpush.SendError](result.Err); ok {
			if !errors.Is(result.Err, context.Canceled) || (e.Attempts == 0 && (e.MaybeSent || len(browsers[i].Messages()) != 0)) {
				t.Errorf("%v", result.Err)
			}
			if len(browsers[i].Messages()) != 0 && !e.MaybeSent {
				t.Errorf("delivered, but the result says certainly not: %v", result.Err)
			}
		} else if len(browsers[i].Messages()) != 1 {
			t.Error("accepted, but not delivered")
		}
	}
	if counts[webpush.Accepted]+counts[webpush.Canceled] != 100 || counts[webpush.Canceled] < 10 {
		t.Errorf("%v", counts)
	}
}

// TestBroadcastCanceledWithoutRoom cancels while a message waits for room in the backlog: it is
// canceled too, and not left to a service that nothing is sent to any more.
func TestBroadcastCanceledWithoutRoom(t *testing.T) {
	subs := strangers(t, 20)
	synctest.Test(t, func(t *testing.T) {
		client := newClient(t, nil, webpush.Config{Limits: webpush.Limits{Backlog: 8}, Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		counts := make(map[webpush.Outcome]int)
		for _, result := range client.Broadcast(ctx, slices.Values(subs), nil, webpush.Options{}) {
			counts[result.Outcome()]++
		}
		if counts[webpush.Canceled] != len(subs) {
			t.Errorf("%v, want all canceled", counts)
		}
	})
}

// TestBroadcastLeftEarly breaks out of the loop; nothing may run on.
func TestBroadcastLeftEarly(t *testing.T) {
	service := newService(t)
	client := newClient(t, service, webpush.Config{Limits: webpush.Limits{Concurrency: 4}})
	browsers, subs := audience(t, service, 50)
	for _, b := range browsers[5:] {
		b.Inject(pushtest.Stall())
	}
	if err := sendTo(t, client, subs[0]); err != nil {
		t.Fatal(err) // so that the connection's goroutines are there already
	}
	before := runtime.NumGoroutine()
	taken := 0
	for range client.Broadcast(t.Context(), counted(subs, &taken), nil, webpush.Options{}) {
		break
	}
	for range 500 {
		if runtime.NumGoroutine() <= before+2 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("%d goroutines before, %d after; %d subscriptions taken", before, runtime.NumGoroutine(), taken)
}

func counted(subs []webpush.Subscription, taken *int) iter.Seq[webpush.Subscription] {
	return func(yield func(webpush.Subscription) bool) {
		for _, sub := range subs {
			*taken++
			if !yield(sub) {
				return
			}
		}
	}
}

func TestBroadcastNothing(t *testing.T) {
	service := newService(t)
	client := newClient(t, service, webpush.Config{})
	for range client.Broadcast(t.Context(), slices.Values([]webpush.Subscription(nil)), nil, webpush.Options{}) {
		t.Error("a result for nobody")
	}
	_, subs := audience(t, service, 2)
	bad := webpush.Options{Urgency: "extreme"}
	n := 0
	for sub, result := range client.Broadcast(t.Context(), slices.Values(append(subs, webpush.Subscription{})), nil, bad) {
		n++
		if want := map[bool]webpush.Outcome{true: webpush.Invalid, false: webpush.Failed}[sub.IsZero()]; result.Outcome() != want || result.Final() != sub.IsZero() {
			t.Errorf("%v", result.Err)
		}
	}
	if n != 3 || service.Requests() != 0 {
		t.Errorf("%d results, %d requests", n, service.Requests())
	}
}

// BenchmarkBroadcast sends over loopback TLS to a push service that checks only
// the form and runs in this process. One operation is one message.
func BenchmarkBroadcast(b *testing.B) {
	service := newService(b, pushtest.Discard())
	_, subs := audience(b, service, 1000)
	message := make([]byte, 365)
	for mode, reuse := range map[string]webpush.Reuse{
		"strict": webpush.Reuse{}, "shared": webpush.SharedKey(time.Hour), "session": webpush.SessionKeys(time.Hour, 10000),
	} {
		b.Run("mode="+mode, func(b *testing.B) {
			client := newClient(b, service, webpush.Config{Reuse: reuse})
			b.ReportAllocs()
			b.ResetTimer()
			sequence := func(yield func(webpush.Subscription) bool) {
				for i := range b.N {
					if !yield(subs[i%len(subs)]) {
						return
					}
				}
			}
			for _, result := range client.Broadcast(b.Context(), sequence, message, webpush.Options{}) {
				if result.Err != nil {
					b.Fatal(result.Err)
				}
			}
		})
	}
}
