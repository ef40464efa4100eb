package seal

import (
	"context"
	"net/http"
	"time"

	"postage/webpush"
)

// reuseTTL is how long reused keys live: longer than any run.
const reuseTTL = 12 * time.Hour

// The modes of package webpush.
type mode struct {
	name  string
	reuse webpush.Reuse
	key   freshness
	floor string
}

var modes = []mode{
	{"strict", webpush.Strict(), perMessage, "floor=composed/mode=strict"},
	{"shared", webpush.SharedKey(reuseTTL), perOrigin, "floor=composed/mode=shared"},
	{"session", webpush.SessionKeys(reuseTTL, 10_000), perSubscription, "floor=composed/mode=session"},
}

// library is package webpush in a mode, as=request or as=parts.
func library(m mode, asRequest bool) *contender {
	c := &contender{
		name: "lib=webpush/mode=" + m.name + "/as=parts", ownFloor: m.floor,
		settings: map[string]string{"reuse": m.reuse.String()},
		key:      m.key, token: perOrigin,
	}
	if asRequest {
		c.name = "lib=webpush/mode=" + m.name + "/as=request"
	}
	c.open = func(w *workload, pad padding) (maker, error) {
		return newClient(w, pad, webpush.Config{Reuse: m.reuse}, asRequest)
	}
	return c
}

// client makes messages with a webpush.Client.
type client struct {
	*webpush.Client
	workload *workload
	options  webpush.Options
	buffer   []byte
	body     []byte
	header   webpush.Header
	request  *http.Request
	// asRequest selects one of the two forms.
	asRequest bool
}

func newClient(w *workload, pad padding, config webpush.Config, asRequest bool) (*client, error) {
	ring, err := webpush.NewKeyRing(w.keys)
	if err != nil {
		return nil, err
	}
	config.Keys, config.Subject = ring, contact
	c := &client{workload: w, options: messageOptions(pad), buffer: make([]byte, 0, webpush.MaxBodyBytes), asRequest: asRequest}
	c.Client, err = webpush.NewClient(config)
	return c, err
}

func messageOptions(pad padding) webpush.Options {
	o := webpush.Options{TTL: ttlSeconds * time.Second}
	if pad {
		o.Padding = webpush.PadToBlock(3994)
	}
	return o
}

func (c *client) make(i int) (err error) {
	sub := c.workload.recipients[i].sub
	if c.asRequest {
		c.request, err = c.NewRequest(context.Background(), sub, c.workload.message, c.options)
		return err
	}
	c.body, c.header, err = c.AppendMessage(c.buffer[:0], c.workload.message, sub, c.options)
	return err
}

func (c *client) made() product {
	if c.asRequest {
		return product{header: c.request.Header, request: c.request, now: time.Now()}
	}
	return product{body: c.body, header: fields(c.header), now: time.Now()}
}

func (c *client) close() error { return c.Close() }

// fields returns the header fields of a request from its parts.
func fields(h webpush.Header) http.Header {
	return http.Header{"Authorization": {h.Authorization}, "Ttl": {h.TTL}, "Content-Encoding": {"aes128gcm"}}
}
