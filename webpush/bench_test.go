package webpush

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"postage/webpush/receiver"
)

// The workload of the benchmarks: a message of 365 bytes to seven subscriptions
// with endpoints shaped like Google's and Mozilla's, one request prepared an
// operation and not sent.
type workload struct {
	message   []byte
	subs      []Subscription
	receivers []*receiver.Receiver
	keys      *VAPIDKeys
}

func newWorkload(t testing.TB) *workload {
	t.Helper()
	w := &workload{message: slices.Clip([]byte(strings.Repeat("All the world's a stage, and all the men and women merely players. ", 6)[:365]))}
	for i := range 7 {
		endpoint := "https://fcm.googleapis.com/fcm/send/" + strings.Repeat("aB3-", 3) + ":APA91b" + strings.Repeat("xY_9zQ", 19) + fmt.Sprint(i)
		if i >= 3 {
			endpoint = "https://updates.push.services.mozilla.com/wpush/v2/gAAAAA" + strings.Repeat("Bk7-_w", 27) + fmt.Sprint(i)
		}
		r, err := receiver.Generate()
		if err != nil {
			t.Fatal(err)
		}
		text, err := r.SubscriptionJSON(endpoint)
		if err != nil {
			t.Fatal(err)
		}
		sub, err := ParseSubscription(text)
		if err != nil {
			t.Fatal(err)
		}
		w.receivers, w.subs = append(w.receivers, r), append(w.subs, sub)
	}
	var err error
	if w.keys, err = GenerateVAPIDKeys(); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *workload) client(t testing.TB, cfg Config) *Client {
	t.Helper()
	ring, err := NewKeyRing(w.keys)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Keys, cfg.Subject = ring, "mailto:example@example.com"
	c, err := NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// An operation prepares message i; it is what a benchmark repeats.
type operation struct {
	name string
	run  func(i int) error
}

func (w *workload) request(t testing.TB, name string, cfg Config, padding Padding) operation {
	c := w.client(t, cfg)
	opts := Options{TTL: time.Minute, Padding: padding}
	ctx := context.Background()
	return operation{name, func(i int) error {
		r, err := c.NewRequest(ctx, w.subs[i%len(w.subs)], w.message, opts)
		keepRequest = r
		return err
	}}
}

func (w *workload) parts(t testing.TB, name string, cfg Config, padding Padding) operation {
	c := w.client(t, cfg)
	opts := Options{TTL: time.Minute, Padding: padding}
	buffer := make([]byte, 0, MaxBodyBytes)
	return operation{name, func(i int) error {
		var err error
		keepBytes, keepHeader, err = c.AppendMessage(buffer[:0], w.message, w.subs[i%len(w.subs)], opts)
		return err
	}}
}

// takesAll answers each request at once.
type takesAll struct{}

func (takesAll) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusCreated, Header: http.Header{}, Body: http.NoBody}, nil
}

// sent sends through a transport of one's own.
func (w *workload) sent(t testing.TB, name string, cfg Config) operation {
	cfg.Transport = takesAll{}
	c, ctx := w.client(t, cfg), context.Background()
	return operation{name, func(i int) error {
		_, err := c.Send(ctx, w.subs[i%len(w.subs)], w.message, Options{TTL: time.Minute})
		return err
	}}
}

var (
	keepRequest *http.Request
	keepBytes   []byte
	keepHeader  Header
)

// parse reads a subscription as a database holds it.
func (w *workload) parse() operation {
	text := w.subs[0].JSON()
	return operation{"parse", func(int) error {
		_, err := ParseSubscription(text)
		return err
	}}
}

func (w *workload) operations(t testing.TB) []operation {
	session, shared := SessionKeys(12*time.Hour, 10000), SharedKey(12*time.Hour)
	return []operation{
		w.parse(),
		w.request(t, "mode=strict/as=request/pad=none", Config{}, Padding{}),
		w.request(t, "mode=strict/as=request/pad=4096", Config{}, PadToBlock(3994)),
		w.parts(t, "mode=strict/as=parts/pad=none", Config{}, Padding{}),
		w.request(t, "mode=shared/as=request/pad=none", Config{Reuse: shared}, Padding{}),
		w.request(t, "mode=session/as=request/pad=none", Config{Reuse: session}, Padding{}),
		w.request(t, "mode=session/as=request/pad=4096", Config{Reuse: session}, PadToBlock(3994)),
		w.parts(t, "mode=session/as=parts/pad=none", Config{Reuse: session}, Padding{}),
		w.parts(t, "mode=session/as=parts/pad=4096", Config{Reuse: session}, PadToBlock(3994)),
	}
}

// BenchmarkSeal is for work on this package. The stage seal measures its modes beside another
// library and the primitives.
func BenchmarkSeal(b *testing.B) {
	for _, op := range newWorkload(b).operations(b) {
		b.Run(op.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				if err := op.run(i); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestAllocations holds the allocation counts that the package promises.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	w, session := newWorkload(t), SessionKeys(time.Hour, 100)
	for _, c := range []struct {
		limit float64
		op    operation
	}{
		{23, w.parse()},
		{23, w.request(t, "strict, request", Config{}, Padding{})},
		{16, w.parts(t, "strict, parts", Config{}, Padding{})},
		{9, w.request(t, "session, request", Config{Reuse: session}, Padding{})},
		{4, w.parts(t, "session, parts", Config{Reuse: session}, Padding{})},
		{23, w.sent(t, "session, sent", Config{Reuse: session})},
		{4, w.parts(t, "session, parts, padded", Config{Reuse: session}, PadToBlock(3994))},
	} {
		limit, op := c.limit, c.op
		t.Run(op.name, func(t *testing.T) {
			i := 0
			got := testing.AllocsPerRun(200, func() {
				if err := op.run(i); err != nil {
					t.Fatal(err)
				}
				i++
			})
			if got > limit {
				t.Errorf("%v allocations, at most %v", got, limit)
			}
		})
	}
}
