package seal

import (
	"crypto/ecdh"
	"crypto/rand"
	"net/http"
	"time"

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
		pageRow("DefaultConfig", webpush.Config{Reuse: shared}, perOrigin, perOrigin, 0),
		pageRow("VAPIDCaching", webpush.Config{Reuse: shared}, perOrigin, perOrigin, 0),
		pageRow("NoCaching", webpush.Config{SignEachMessage: true}, perMessage, perMessage, 0),
		pageRow("LocalSecretCaching", webpush.Config{Reuse: session, SignEachMessage: true}, perSubscription, perMessage, 0),
		pageRow("VapidAndLocalSecretCaching", webpush.Config{Reuse: session}, perSubscription, perOrigin, 0),
		// On the page both look for a secret, do not find it, and compute it with the key pair that
		// is kept with the token: one ECDH, as for a shared key.
		pageRow("VapidAndLocalSecretCachingExpired", webpush.Config{Reuse: shared}, perOrigin, perOrigin, 0),
		pageRow("VapidAndLocalSecretCachingCacheInit", webpush.Config{Reuse: shared}, perOrigin, perOrigin, 0),
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

// pageRow is package webpush with the caches of one of the page's rows, as=request. After each
// message its clock advances by the step.
func pageRow(name string, config webpush.Config, key, token freshness, step time.Duration) *contender {
	return &contender{
		name:     "page=" + name,
		settings: map[string]string{"lib": "webpush", "reuse": config.Reuse.String(), "token": string(token)},
		key:      key, token: token,
		open: func(w *workload, pad padding) (maker, error) {
			c := &clock{now: time.Now()}
			if step > 0 {
				config.Now = c.read
			}
			m, err := newClient(w, pad, config, true)
			return &stepping{client: m, clock: c, step: step}, err
		},
	}
}

// stepping is a client whose clock advances before each message.
type stepping struct {
	*client
	clock *clock
	step  time.Duration
}

func (s *stepping) make(i int) error {
	s.clock.now = s.clock.now.Add(s.step)
	return s.client.make(i)
}

// keyAndToken is the page's GetCachedKey: a key pair and a signed token, but no message.
func keyAndToken() *contender {
	return &contender{
		name:     "page=GetCachedKey",
		settings: map[string]string{"lib": "webpush"},
		key:      perMessage, token: perMessage, alone: true,
		open: func(w *workload, _ padding) (maker, error) {
			ring, err := webpush.NewKeyRing(w.keys)
			if err != nil {
				return nil, err
			}
			signer, err := webpush.NewSigner(webpush.SignerConfig{Keys: ring, Subject: contact, SignEachMessage: true})
			return &keys{workload: w, signer: signer}, err
		},
	}
}

type keys struct {
	workload *workload
	signer   *webpush.Signer
	public   []byte
	token    string
}

func (k *keys) make(i int) error {
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	k.public = key.PublicKey().Bytes()
	k.token, err = k.signer.Authorization(k.workload.recipients[i].sub)
	return err
}

func (k *keys) made() product {
	return product{body: k.public, header: http.Header{"Authorization": {k.token}}, now: time.Now()}
}

func (k *keys) close() error { return nil }
