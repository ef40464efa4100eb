package webpush

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"
)

// Config sets up a [Client]. Keys and Subject are required; the zero value of
// everything else is a sensible default.
type Config struct {
	// Keys sign the VAPID tokens (RFC 8292).
	Keys *KeyRing

	// Subject is where the push service's operator can reach you: "mailto:" and
	// an address, or an https URL.
	Subject string

	// AllowOrigin is asked before anything is sent to an origin; nil allows all. Endpoints come from
	// strangers and can name any https host that you can reach: see [KnownPushService].
	AllowOrigin func(origin string) bool

	// Transport sends the requests; nil is NewTransport(nil), which refuses addresses that are not
	// public. Redirects are never followed. One of your own around it can log, count or trace
	// requests: of a request its Host is no secret, its URL and its header are.
	Transport http.RoundTripper

	// Timeout bounds one attempt, from connecting to the end of the answer; 0 is 30 seconds.
	Timeout time.Duration

	// Retry says when to try again.
	Retry Retry

	// Limits bound broadcasts.
	Limits Limits

	// Reuse trades fresh keys for speed; the zero value, strict, does not.
	Reuse Reuse

	// OnGone is called with each subscription that has ended (404 or 410), from several goroutines
	// at once: delete the subscription in it. Its context does not end with the broadcast's. It is
	// not called while the service is [Suspect]; Broadcast calls it when the service has taken a
	// later message.
	OnGone func(context.Context, Subscription)

	// OnSuspect is called when an origin begins to refuse everything ([Suspect]), with the last
	// refusal. nil is an error in slog's default logger: what nobody hears of, nobody mends.
	OnSuspect func(context.Context, *SendError)

	now func() time.Time // for tests; nil is time.Now
}

// Limits bound a [Client.Broadcast]. The zero value has sensible ones.
type Limits struct {
	// Concurrency is how many requests to one origin are under way at most; 0 is 64. To all origins
	// that [KnownPushService] does not know together there are at most 4 times as many.
	Concurrency int

	// Rate is the most requests a second to one origin; 0 sets no limit.
	Rate float64

	// Backlog is how many messages may wait at once, so that others can overtake those to a slow
	// service; 0 is 65536. At most half of them may wait for services that are silent or paused;
	// further ones are [Deferred].
	Backlog int

	// Refusals and Gone are how many different subscriptions in a row an origin may refuse
	// ([Rejected], [KeyMismatch]) or call [Gone], without taking a message in between, before none
	// of it is believed: see [Suspect]. 0 are 6, since a key or a subject that is wrong for six
	// subscriptions is wrong for the others too, and 20, since where even half have ended, twenty
	// in a row are one chance in a million. Below 0, everything is believed.
	Refusals, Gone int

	// Patience is how long messages wait for a service that accepts nothing, whatever it asks for;
	// 0 is 5 minutes, more than the two that Mozilla's asks for when it is overloaded.
	Patience time.Duration
}

func (l Limits) withDefaults() (Limits, error) {
	if l.Concurrency < 0 || l.Backlog < 0 || l.Patience < 0 || !(l.Rate >= 0) {
		return l, errors.New("webpush: limits: Concurrency, Rate, Backlog or Patience is negative")
	}
	l.Concurrency = cmp.Or(l.Concurrency, defaultConcurrency)
	l.Backlog = cmp.Or(l.Backlog, 65536)
	l.Patience = cmp.Or(l.Patience, 5*time.Minute)
	l.Refusals = cmp.Or(l.Refusals, 6)
	l.Gone = cmp.Or(l.Gone, 20)
	return l, nil
}

const defaultConcurrency = 64

// A Client encrypts, signs and sends messages. It is safe for concurrent use. Close it when done.
type Client struct {
	cfg          Config // with its defaults
	sealer       *sealer
	signer       *signer
	ownTransport *http.Transport // nil if the caller gave one
	origins      *table[string, origin]
}

// NewClient checks cfg and makes a client.
func NewClient(cfg Config) (*Client, error) {
	if cfg.Timeout < 0 {
		return nil, errors.New("webpush: client: Timeout is negative")
	}
	cfg.Timeout = cmp.Or(cfg.Timeout, 30*time.Second)
	if cfg.now == nil {
		cfg.now = time.Now
	}
	if cfg.OnSuspect == nil {
		cfg.OnSuspect = func(ctx context.Context, err *SendError) { slog.ErrorContext(ctx, err.Error()) }
	}
	c := &Client{origins: newTable[string, origin](maxOrigins)}
	var err error
	if c.signer, err = newSigner(cfg.Keys, cfg.Subject); err != nil {
		return nil, err
	}
	if cfg.Retry, err = cfg.Retry.withDefaults(); err != nil {
		return nil, err
	}
	if cfg.Limits, err = cfg.Limits.withDefaults(); err != nil {
		return nil, err
	}
	if c.sealer, err = newSealer(cfg.Reuse, cfg.now); err != nil {
		return nil, err
	}
	if cfg.Transport == nil {
		c.ownTransport = NewTransport(nil)
		c.ownTransport.MaxConnsPerHost = cfg.Limits.Concurrency
		cfg.Transport = c.ownTransport
	}
	c.cfg = cfg
	return c, nil
}

// Close ends the client's goroutines, forgets its reused keys and closes idle connections of its
// own transport. Messages under way are not stopped; later ones fail with [ErrClosed].
func (c *Client) Close() error {
	c.sealer.close()
	if c.ownTransport != nil {
		c.ownTransport.CloseIdleConnections()
	}
	return nil
}

// AppendMessage prepares a message for programs that send by other means: it appends the body to
// dst and returns it with the header fields. The request is a POST to [Subscription.Endpoint] with
// these fields and, if there is a body, "Content-Encoding: aes128gcm".
func (c *Client) AppendMessage(dst, msg []byte, sub Subscription, opts Options) ([]byte, Header, error) {
	if err := c.allows(sub); err != nil {
		return dst, Header{}, err
	}
	h, err := opts.header()
	if err != nil {
		return dst, Header{}, err
	}
	now := c.cfg.now()
	if err := c.signer.authorize(&h, sub.Origin(), c.signer.candidates(sub)[0], now); err != nil {
		return dst, Header{}, err
	}
	body, err := opts.appendBody(c.sealer, dst, msg, sub, now)
	if err != nil {
		return dst, Header{}, err
	}
	return body, h, nil
}

func (c *Client) origin(name string) *origin {
	return c.origins.get(name, time.Now().Unix())
}

// allows checks the subscription before any work is done.
func (c *Client) allows(sub Subscription) error {
	if sub.IsZero() {
		return errNoSubscription
	}
	if c.cfg.AllowOrigin != nil && !c.cfg.AllowOrigin(sub.Origin()) {
		return fmt.Errorf("webpush: origin %s is not allowed", sub.Origin())
	}
	return nil
}

// NewRequest prepares a message as a request that any [http.Client] or [http.RoundTripper] can send
// (RFC 8030 section 5). It carries a valid VAPID token: send it soon and do not log its header.
func (c *Client) NewRequest(ctx context.Context, sub Subscription, msg []byte, opts Options) (*http.Request, error) {
	if ctx == nil {
		return nil, errors.New("webpush: the context is nil")
	}
	body, h, err := c.AppendMessage(nil, msg, sub, opts)
	if err != nil {
		return nil, err
	}
	request, _ := newRequest(ctx, sub, h, body)
	return request, nil
}
