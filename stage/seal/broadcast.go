package seal

import (
	"context"
	"net/http"
	"sync"

	"postage/webpush"
)

// throughBroadcast is package webpush in a mode, through [webpush.Client.Broadcast]: its queues,
// goroutines and results. A transport takes the requests and answers at once, so nothing is sent;
// Seal/send=loopback measures sending.
func throughBroadcast(name string, reuse webpush.Reuse, key freshness, floor string) *contender {
	return &contender{
		name: "lib=webpush/mode=" + name + "/as=broadcast", ownFloor: floor,
		settings: map[string]string{"reuse": reuse.String()},
		key:      key, token: perOrigin,
		open: func(w *workload, pad padding) (maker, error) {
			b := &broadcaster{}
			c, err := newClient(w, webpush.Config{Reuse: reuse, Transport: b, Limits: webpush.Limits{Backlog: 256}})
			if err != nil {
				return maker{}, err
			}
			options := messageOptions(pad)
			return maker{close: c.Close, many: func(i, n int, sink func(*http.Request)) error {
				b.sink = sink
				return toAll(c, n, func(k int) webpush.Subscription { return w.recipients[(i+k)%len(w.recipients)].sub }, w.message, options)
			}}, nil
		},
	}
}

// toAll broadcasts a message to n subscriptions.
func toAll(c *webpush.Client, n int, subscription func(i int) webpush.Subscription, message []byte, options webpush.Options) error {
	to := func(yield func(webpush.Subscription) bool) {
		for i := range n {
			if !yield(subscription(i)) {
				return
			}
		}
	}
	for _, result := range c.Broadcast(context.Background(), to, message, options) {
		if result.Err != nil {
			return result.Err
		}
	}
	return nil
}

// broadcaster takes requests instead of sending them.
type broadcaster struct {
	mu   sync.Mutex // several goroutines send
	sink func(*http.Request)
	last *http.Request
}

func (b *broadcaster) RoundTrip(r *http.Request) (*http.Response, error) {
	b.mu.Lock()
	b.last = r
	if b.sink != nil {
		b.sink(r)
	}
	b.mu.Unlock()
	return &http.Response{StatusCode: http.StatusCreated, Header: http.Header{}, Body: http.NoBody}, nil
}
