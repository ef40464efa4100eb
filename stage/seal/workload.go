package seal

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	webpushgo "github.com/SherClockHolmes/webpush-go"

	"postage/webpush"
	"postage/webpush/receiver"
)

const (
	// messageBytes is the length of the page's message.
	messageBytes = 365
	// ttlSeconds is the TTL of every message.
	ttlSeconds = 60
	// contact is the VAPID subject, the page's.
	contact = "mailto:example@example.com"
)

// workload is the same for all contenders.
type workload struct {
	message    []byte
	recipients []recipient
	keys       *webpush.VAPIDKeys
	now        func() time.Time
}

// recipient is a subscription in each library's form, and the browser behind it.
type recipient struct {
	origin  string // of the endpoint, known from when it was made, not from a library
	url     string
	stored  []byte // in the form that the browser gave
	sub     webpush.Subscription
	theirs  *webpushgo.Subscription
	browser *receiver.Receiver
}

func newWorkload(seed uint64) (*workload, error) {
	rng := rand.New(rand.NewPCG(seed, 8291))
	w := &workload{message: message(), now: time.Now}
	var err error
	if w.keys, err = webpush.GenerateVAPIDKeys(); err != nil {
		return nil, err
	}
	for i := range 7 {
		origin, path := "https://fcm.googleapis.com", "/fcm/send/"+letters(rng, 12)+":APA91b"+letters(rng, 120)
		if i >= 3 {
			origin, path = "https://updates.push.services.mozilla.com", "/wpush/v2/gAAAAA"+letters(rng, 164)
		}
		r, err := newRecipient(rng, origin, path)
		if err != nil {
			return nil, fmt.Errorf("seal: subscription %d: %w", i, err)
		}
		w.recipients = append(w.recipients, r)
	}
	return w, nil
}

// message is the page's. It is clipped, as webpush-go writes beyond its end if there is capacity.
func message() []byte {
	return slices.Clip([]byte(strings.Repeat("All the world's a stage, and all the men and women merely players. ", 6)[:messageBytes]))
}

func newRecipient(rng *rand.Rand, origin, path string) (r recipient, err error) {
	r.origin, r.url = origin, origin+path
	if r.browser, err = receiver.New(octets(rng, 32), octets(rng, 16)); err != nil {
		return r, err
	}
	if r.stored, err = r.browser.SubscriptionJSON(r.url); err != nil {
		return r, err
	}
	if r.sub, err = webpush.ParseSubscription(r.stored); err != nil {
		return r, err
	}
	r.theirs = new(webpushgo.Subscription)
	return r, json.Unmarshal(r.stored, r.theirs)
}

func octets(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

func letters(rng *rand.Rand, n int) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[rng.IntN(len(alphabet))]
	}
	return string(b)
}
