package seal

import (
	"crypto/ecdh"
	"crypto/rand"
	"net/http"

	"postage/lab"
	"postage/webpush"
)

// pageCase has the nine rows of the published page under its names. They are rows of go-fwebpush,
// which is not available as a module. Its techniques are modes of package webpush.
func pageCase() lab.Case {
	shared, session := webpush.SharedKey(reuseTTL), webpush.SessionKeys(reuseTTL, 10_000)
	rows := []*contender{
		webpushGo("page=OldImpl"),
		// The page's default shares one key among all messages to an origin, as long as the token
		// lives. VAPIDCaching has the same settings, there as here.
		pageRow("DefaultConfig", shared, perOrigin, perOrigin),
		pageRow("VAPIDCaching", shared, perOrigin, perOrigin),
		pageRow("NoCaching", webpush.Reuse{}, perMessage, perMessage),
		pageRow("LocalSecretCaching", session, perSubscription, perMessage),
		pageRow("VapidAndLocalSecretCaching", session, perSubscription, perOrigin),
		// On the page both look for a secret, do not find it, and compute it with the key pair that
		// is kept with the token: one ECDH, as for a shared key.
		pageRow("VapidAndLocalSecretCachingExpired", shared, perOrigin, perOrigin),
		pageRow("VapidAndLocalSecretCachingCacheInit", shared, perOrigin, perOrigin),
		keyAndToken(),
	}
	c := lab.Case{
		Name:     "Seal/slice=page",
		Doc:      "The published page's nine rows: what does each cache of a Web Push sender save, and against webpush-go?",
		Baseline: "page=OldImpl",
	}
	for _, r := range rows {
		r.ownFloor = ""
		c.Contenders = append(c.Contenders, r.row(false))
	}
	return c
}

// pageRow is package webpush with the caches of one of the page's rows, as=request.
func pageRow(name string, reuse webpush.Reuse, key, token freshness) *contender {
	return &contender{
		name:     "page=" + name,
		settings: map[string]string{"lib": "webpush", "reuse": reuse.String(), "token": string(token)},
		key:      key, token: token,
		open: func(w *workload, pad padding) (maker, error) {
			m, err := library(w, pad, webpush.Config{Reuse: reuse}, true)
			if token != perMessage {
				return m, err
			}
			make := m.make
			m.make = func(i int) (product, error) { // tokens are not kept: a new client signs each message
				p, err := make(i)
				if err != nil {
					return p, err
				}
				authorization, err := newToken(w, i)
				p.request.Header.Set("Authorization", authorization)
				return p, err
			}
			return m, err
		},
	}
}

func newToken(w *workload, i int) (string, error) {
	ring, err := webpush.NewKeyRing(w.keys)
	if err != nil {
		return "", err
	}
	c, err := webpush.NewClient(webpush.Config{Keys: ring, Subject: contact, Transport: http.DefaultTransport})
	if err != nil {
		return "", err
	}
	defer c.Close()
	_, header, err := c.AppendMessage(nil, nil, w.recipients[i].sub, webpush.Options{NoPayload: true})
	return header.Authorization, err
}

// keyAndToken is the page's GetCachedKey: a key pair and a signed token, but no message.
func keyAndToken() *contender {
	return &contender{
		name:     "page=GetCachedKey",
		settings: map[string]string{"lib": "webpush"},
		key:      perMessage, token: perMessage, alone: true,
		open: func(w *workload, _ padding) (maker, error) {
			return maker{make: func(i int) (p product, err error) {
				key, err := ecdh.P256().GenerateKey(rand.Reader)
				if err != nil {
					return p, err
				}
				p.body = key.PublicKey().Bytes()
				p.header.Authorization, err = newToken(w, i)
				return p, err
			}}, nil
		},
	}
}
