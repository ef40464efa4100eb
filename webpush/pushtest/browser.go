package pushtest

import (
	"slices"
	"time"

	"postage/webpush/receiver"
)

// A Browser is one subscription at a [Server] and the messages sent to it.
type Browser struct {
	server    *Server
	receiver  *receiver.Receiver
	path      string
	publicKey string

	// Guarded by server.mu.
	ended    bool
	faults   []Fault
	messages []Message
}

// A Message is a message that the service accepted.
type Message struct {
	Data []byte // as the browser reads it
	Err  error  // why the browser could not read it

	Body        []byte // as posted
	TTL         time.Duration
	Urgency     string // "" if not given
	Topic       string
	ContentType string
	Claims      receiver.Claims
	Proto       string // of the request, such as "HTTP/2.0"
}

// Endpoint is the URL to post to.
func (b *Browser) Endpoint() string { return b.server.URL + b.path }

// JSON is what PushSubscription.toJSON() would give.
func (b *Browser) JSON() []byte {
	j, err := b.receiver.SubscriptionJSON(b.Endpoint())
	if err != nil {
		panic("pushtest: " + err.Error()) // strings always encode
	}
	return j
}

// Messages lists what was accepted for this browser, in order.
func (b *Browser) Messages() []Message {
	b.server.mu.Lock()
	defer b.server.mu.Unlock()
	return slices.Clone(b.messages)
}

// Inject gives the next requests to this browser these faults, one each, in this
// order. They come before what [Server.Inject] gave.
func (b *Browser) Inject(faults ...Fault) {
	b.server.mu.Lock()
	defer b.server.mu.Unlock()
	b.faults = append(b.faults, faults...)
}

// Unsubscribe ends the subscription: messages are answered with 410.
func (b *Browser) Unsubscribe() {
	b.server.mu.Lock()
	defer b.server.mu.Unlock()
	b.ended = true
}
