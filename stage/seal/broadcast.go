package seal

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

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
			var err error
			b.client, err = newClient(w, pad, webpush.Config{Reuse: reuse, Transport: b, Limits: webpush.Limits{Backlog: 256}}, true)
			return b, err
		},
	}
}

// broadcaster makes messages with broadcasts.
type broadcaster struct {
	*client
	mu       sync.Mutex // several goroutines send
	captured map[string][]*http.Request
}

// RoundTrip keeps the request instead of sending it.
func (b *broadcaster) RoundTrip(r *http.Request) (*http.Response, error) {
	b.mu.Lock()
	b.request = r
	if b.captured != nil {
		b.captured[r.URL.String()] = append(b.captured[r.URL.String()], r)
	}
	b.mu.Unlock()
	return &http.Response{StatusCode: http.StatusCreated, Header: http.Header{}, Body: http.NoBody}, nil
}

// makeMany makes n messages, the first for recipient i, in one broadcast.
func (b *broadcaster) makeMany(i, n int) error {
	to := func(yield func(webpush.Subscription) bool) {
		for k := range n {
			if !yield(b.workload.recipients[(i+k)%len(b.workload.recipients)].sub) {
				return
			}
		}
	}
	for _, result := range b.Broadcast(context.Background(), to, b.workload.message, b.options) {
		if result.Err != nil {
			return result.Err
		}
	}
	return nil
}

// makeAll makes several rounds of messages in one broadcast, and returns them.
func (b *broadcaster) makeAll(rounds int) ([]product, error) {
	// Two messages to one subscription could otherwise be sealed at the same time, before there is
	// a session.
	if err := b.makeMany(0, len(b.workload.recipients)); err != nil {
		return nil, err
	}
	b.captured = map[string][]*http.Request{}
	err := b.makeMany(0, rounds*len(b.workload.recipients))
	captured := b.captured
	b.captured = nil
	if err != nil {
		return nil, err
	}
	var all []product
	for round := range rounds {
		for i := range b.workload.recipients {
			requests := captured[b.workload.recipients[i].url]
			if len(requests) != rounds {
				return nil, fmt.Errorf("%d messages for recipient %d, want %d", len(requests), i, rounds)
			}
			all = append(all, product{header: requests[round].Header, request: requests[round], now: time.Now()})
		}
	}
	return all, nil
}

func (b *broadcaster) make(i int) error { return b.makeMany(i, 1) }
