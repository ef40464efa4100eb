package webpush

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	webpushgo "github.com/SherClockHolmes/webpush-go"

	"postage/webpush/receiver"
)

// The workload of the benchmarks: a message of 365 bytes to seven subscriptions
// with endpoints shaped like Google's and Mozilla's, one request prepared an
// operation and not sent.
type workload struct {
	message   []byte
	subs      []Subscription
	receivers []*receiver.Receiver
	theirs    []*webpushgo.Subscription
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
		theirs := new(webpushgo.Subscription)
		if err := json.Unmarshal(text, theirs); err != nil {
			t.Fatal(err)
		}
		w.receivers, w.subs, w.theirs = append(w.receivers, r), append(w.subs, sub), append(w.theirs, theirs)
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

type capture struct{ request *http.Request }

func (c *capture) Do(r *http.Request) (*http.Response, error) {
	c.request = r
	return nil, nil
}

// webpushGo is webpush-go v1.4.0. Record size 0 is its default, which pads
// every body to 4096 bytes; 478 pads a 365 byte message not at all.
func (w *workload) webpushGo(name string, recordSize uint32) operation {
	to := new(capture)
	options := &webpushgo.Options{
		HTTPClient: to, RecordSize: recordSize, Subscriber: "example@example.com", TTL: 60,
		VAPIDPublicKey: w.keys.PublicKey(), VAPIDPrivateKey: w.keys.PrivateKey(),
	}
	return operation{name, func(i int) error {
		_, err := webpushgo.SendNotification(w.message, w.theirs[i%len(w.theirs)], options)
		return err
	}}
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
	keepAEAD    cipher.AEAD
)

// Floors: the primitives that a message needs, as the standard library has them.

func floorKeygen(int) error {
	k, err := ecdh.P256().GenerateKey(rand.Reader)
	if err == nil {
		keepBytes = k.PublicKey().Bytes()
	}
	return err
}

func (w *workload) floorECDH() func(int) error {
	k, err := ecdh.P256().GenerateKey(rand.Reader)
	var publics []*ecdh.PublicKey
	for _, sub := range w.subs {
		public, err2 := ecdh.P256().NewPublicKey(sub.appendPublic(nil))
		publics, err = append(publics, public), errors.Join(err, err2)
	}
	return func(i int) error {
		if err == nil {
			keepBytes, err = k.ECDH(publics[i%len(publics)])
		}
		return err
	}
}

func floorSignature() func(int) error {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	digest := sha256.Sum256(nil)
	return func(int) error {
		if err == nil {
			keepBytes, err = ecdsa.SignASN1(rand.Reader, k, digest[:])
		}
		return err
	}
}

// floorHKDF is the whole key schedule; floorHKDFContent the half of it that
// comes after the input keying material. Both with this package's HKDF, which
// is the stricter floor: crypto/hkdf takes longer.
func (w *workload) floorHKDF() func(int) error {
	s, secret := getSchedule(), make([]byte, 32)
	return func(i int) error {
		s.deriveIKM(secret, w.subs[i%len(w.subs)])
		keepBytes, _ = s.deriveKey()
		return nil
	}
}

func (w *workload) floorHKDFContent() func(int) error {
	s := getSchedule()
	return func(int) error {
		keepBytes, _ = s.deriveKey()
		return nil
	}
}

// stdHKDFContent is floorHKDFContent with crypto/hkdf.
func stdHKDFContent() func(int) error {
	ikm, salt := make([]byte, 32), make([]byte, 16)
	return func(int) error {
		prk, err := hkdf.Extract(sha256.New, ikm, salt)
		if err != nil {
			return err
		}
		if keepBytes, err = hkdf.Expand(sha256.New, prk, "Content-Encoding: aes128gcm\x00", 16); err != nil {
			return err
		}
		keepBytes, err = hkdf.Expand(sha256.New, prk, "Content-Encoding: nonce\x00", 12)
		return err
	}
}

// floorAEAD makes the cipher and seals: the key is new for every message.
func (w *workload) floorAEAD(plaintextBytes int) func(int) error {
	key, nonce, buffer := make([]byte, 16), make([]byte, 12), make([]byte, plaintextBytes, MaxBodyBytes)
	return func(int) error {
		block, err := aes.NewCipher(key)
		if err != nil {
			return err
		}
		if keepAEAD, err = cipher.NewGCM(block); err != nil {
			return err
		}
		keepBytes = keepAEAD.Seal(buffer[:0], nonce, buffer, nil)
		return nil
	}
}

func (w *workload) floors() []operation {
	return []operation{
		{"floor=keygen", floorKeygen},
		{"floor=ecdh", w.floorECDH()},
		{"floor=signature", floorSignature()},
		{"floor=hkdf", w.floorHKDF()},
		{"floor=hkdf-content", w.floorHKDFContent()},
		{"floor=crypto/hkdf-content", stdHKDFContent()},
		{"floor=aes-gcm/plaintext=366", w.floorAEAD(366)},
		{"floor=aes-gcm/plaintext=3994", w.floorAEAD(maxPlaintextBytes)},
	}
}

// broadcast is KeyPerBroadcast's cost a message once the key is there.
func (w *workload) broadcast(t testing.TB, name string) operation {
	c := w.client(t, Config{Reuse: KeyPerBroadcast()})
	c.sealer = c.sealer.ForBroadcast()
	ctx, opts := context.Background(), Options{TTL: time.Minute}
	return operation{name, func(i int) error {
		r, err := c.NewRequest(ctx, w.subs[i%len(w.subs)], w.message, opts)
		keepRequest = r
		return err
	}}
}

func (w *workload) operations(t testing.TB) []operation {
	session, shared := SessionKeys(12*time.Hour, 10000), SharedKey(12*time.Hour)
	return append([]operation{
		w.webpushGo("lib=webpush-go/pad=4096", 0),
		w.webpushGo("lib=webpush-go/pad=none", 86+16+366+10),
		w.request(t, "lib=webpush/mode=strict/as=request/pad=none", Config{}, PadNone()),
		w.request(t, "lib=webpush/mode=strict/as=request/pad=4096", Config{}, PadToBlock(3994)),
		w.parts(t, "lib=webpush/mode=strict/as=parts/pad=none", Config{}, PadNone()),
		w.broadcast(t, "lib=webpush/mode=broadcast/as=request/pad=none"),
		w.request(t, "lib=webpush/mode=shared/as=request/pad=none", Config{Reuse: shared}, PadNone()),
		w.request(t, "lib=webpush/mode=session/as=request/pad=none", Config{Reuse: session}, PadNone()),
		w.request(t, "lib=webpush/mode=session/as=request/pad=4096", Config{Reuse: session}, PadToBlock(3994)),
		w.parts(t, "lib=webpush/mode=session/as=parts/pad=none", Config{Reuse: session}, PadNone()),
		w.parts(t, "lib=webpush/mode=session/as=parts/pad=4096", Config{Reuse: session}, PadToBlock(3994)),
	}, w.floors()...)
}

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

func BenchmarkParseSubscription(b *testing.B) {
	text := newWorkload(b).subs[0].JSON()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseSubscription(text); err != nil {
			b.Fatal(err)
		}
	}
}
