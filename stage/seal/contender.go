package seal

import (
	"context"
	"fmt"
	"net/http"

	"postage/lab"
	"postage/record"
	"postage/webpush"
)

// A contender is a library in one of its modes.
type contender struct {
	name     string
	module   string
	settings map[string]string
	ownFloor string
	// key says how long an ECDH key is used, token how long a VAPID token is. The proof checks
	// both, and the list shows them.
	key, token freshness
	// alone is for the page's row that makes only a key and a token, no message.
	alone bool
	open  func(w *workload, pad padding) (maker, error)
}

// freshness is how long something is used before a new one is made.
type freshness string

const (
	perMessage      freshness = "fresh for every message"
	perSubscription freshness = "kept for a subscription"
	perOrigin       freshness = "kept for an origin"
)

// padding is how far messages are padded: to bodies of 4096 bytes, or not at all.
type padding bool

func (p padding) String() string {
	if p {
		return "4096"
	}
	return "none"
}

// bodyBytes is the length of the page's message when sealed.
func (p padding) bodyBytes() int {
	if p {
		return webpush.MaxBodyBytes
	}
	return messageBytes + webpush.OverheadBytes
}

// A maker prepares messages.
type maker struct {
	// make prepares the message for recipient i.
	make  func(i int) (product, error)
	close func() error // nil if there is nothing to close
}

// product is a message that is ready to be sent, in the form that the library returns.
type product struct {
	request *http.Request // nil with as=parts
	body    []byte
	header  webpush.Header
}

// fields returns the header fields, of a request or from its parts.
func (p product) fields() http.Header {
	if p.request != nil {
		return p.request.Header
	}
	return http.Header{"Authorization": {p.header.Authorization}, "Ttl": {p.header.TTL}, "Content-Encoding": {"aes128gcm"}, "Content-Type": {p.header.ContentType}}
}

func (c *contender) row(pad padding) lab.Contender {
	row := lab.Contender{
		Name: c.name, Module: c.module, OwnFloor: c.ownFloor,
		Settings: c.settings,
	}
	row.Checks = "the messages of two rounds of the subscriptions are opened by an independent receiver and their tokens verified; only those keys and tokens that the row says are used twice"
	if c.alone {
		row.Checks = "the keys of two rounds of the subscriptions are points of the curve, and their tokens are verified; none is used twice"
	}
	row.Properties = map[string]string{"ecdh-key": string(c.key), "vapid-token": string(c.token)}
	if c.key != perMessage {
		row.Properties[record.Departs] = "RFC 8291 (3.1), as its key is " + string(c.key)
	}
	row.Open = func(_ context.Context, env lab.Env) (lab.Instance, error) {
		w, err := newWorkload(env.Seed)
		if err != nil {
			return nil, err
		}
		m, err := c.open(w, pad)
		if err != nil {
			return nil, fmt.Errorf("seal: %s: %w", c.name, err)
		}
		return &instance{contender: c, workload: w, pad: pad, maker: m}, nil
	}
	return row
}

// instance is an open contender.
type instance struct {
	contender *contender
	workload  *workload
	pad       padding
	maker     maker
	next      int
	last      product
}

func (in *instance) Run(n int) (err error) {
	for range n {
		if in.last, err = in.maker.make(in.next); err != nil {
			return err
		}
		if in.next++; in.next == len(in.workload.recipients) {
			in.next = 0
		}
	}
	return nil
}

func (in *instance) Close() error {
	if in.maker.close == nil {
		return nil
	}
	return in.maker.close()
}

// Metrics returns the length of the request's body in bytes.
func (in *instance) Metrics() map[string]float64 {
	if in.contender.alone {
		return nil
	}
	return map[string]float64{record.EncodedBytes: float64(in.pad.bodyBytes())}
}
