package seal

import (
	"context"
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
	{"strict", webpush.Reuse{}, perMessage, "floor=composed/mode=strict"},
	{"shared", webpush.SharedKey(reuseTTL), perOrigin, "floor=composed/mode=shared"},
	{"session", webpush.SessionKeys(reuseTTL, 10_000), perSubscription, "floor=composed/mode=session"},
}

// libraryRow is package webpush in a mode, as=request or as=parts.
func libraryRow(m mode, asRequest bool) *contender {
	c := &contender{
		name: "lib=webpush/mode=" + m.name + "/as=parts", ownFloor: m.floor,
		settings: map[string]string{"reuse": m.reuse.String()},
		key:      m.key, token: perOrigin,
	}
	if asRequest {
		c.name = "lib=webpush/mode=" + m.name + "/as=request"
	}
	c.open = func(w *workload, pad padding) (maker, error) {
		return library(w, pad, webpush.Config{Reuse: m.reuse}, asRequest)
	}
	return c
}

func newClient(w *workload, config webpush.Config) (*webpush.Client, error) {
	ring, err := webpush.NewKeyRing(w.keys)
	if err != nil {
		return nil, err
	}
	config.Keys, config.Subject = ring, contact
	return webpush.NewClient(config)
}

// library makes messages with a webpush.Client of its own.
func library(w *workload, pad padding, config webpush.Config, asRequest bool) (maker, error) {
	c, err := newClient(w, config)
	if err != nil {
		return maker{}, err
	}
	return messages(c, w, pad, asRequest), nil
}

// messages makes a workload's messages with a client.
func messages(c *webpush.Client, w *workload, pad padding, asRequest bool) maker {
	options, buffer := messageOptions(pad), make([]byte, 0, webpush.MaxBodyBytes)
	parts := func(i int) (p product, err error) {
		p.body, p.header, err = c.AppendMessage(buffer, w.message, w.recipients[i].sub, options)
		return p, err
	}
	if !asRequest {
		return maker{make: parts, close: c.Close}
	}
	return maker{close: c.Close, make: func(i int) (p product, err error) {
		p.request, err = c.NewRequest(context.Background(), w.recipients[i].sub, w.message, options)
		return p, err
	}}
}

func messageOptions(pad padding) webpush.Options {
	o := webpush.Options{TTL: ttlSeconds * time.Second}
	if pad {
		o.Padding = webpush.PadToBlock(3994)
	}
	return o
}
