package webpush

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
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

	// Reuse trades key freshness for speed. The zero value is [Strict].
	Reuse Reuse

	// TokenLife, MaxOrigins and SignEachMessage are those of [SignerConfig].
	TokenLife       time.Duration
	MaxOrigins      int
	SignEachMessage bool

	// AllowOrigin is asked before anything is sent to an origin (as
	// [Subscription.Origin] gives it); nil allows all. Endpoints come from
	// strangers: without a check, a subscription can point at any https host
	// that the server can reach. [KnownPushService] is one to use.
	AllowOrigin func(origin string) bool

	// AllowAddress is asked before a connection is made to a host that
	// [KnownPushService] does not know; nil is [PublicAddress], which refuses
	// addresses of private networks and of this machine. It is not used with a
	// Transport of the caller's: see [NewTransport].
	AllowAddress func(netip.Addr) bool

	// Transport sends the requests; nil is a [NewTransport], made for this
	// client. Redirects are never followed and cookies never kept.
	Transport http.RoundTripper

	// Timeout bounds one attempt, from connecting to the end of the answer;
	// 0 is 30 seconds.
	Timeout time.Duration

	// Retry says when to try again.
	Retry Retry

	// Concurrency is how many requests to one origin a [Client.Broadcast] has under way
	// at most; 0 is 64. To all origins that [KnownPushService] does not know together it
	// has at most 4 times as many.
	Concurrency int

	// Backlog is how many messages of a broadcast may wait at once, so that messages to other
	// services can overtake those to a slow one; 0 is 65536. At most half of them may wait for
	// services that are silent or paused; further ones are [Deferred].
	Backlog int

	// Patience is how long messages of a broadcast wait for a service that accepts
	// nothing; 0 is 5 minutes.
	Patience time.Duration

	// Rate is the most requests a second that a broadcast makes to one origin; 0 sets no
	// limit.
	Rate float64

	// OnAttempt is called for each request, to log, count or trace it. See
	// [LogAttempts].
	OnAttempt AttemptHook

	// OnGone is called with each subscription that a push service says has ended (404 or 410), by
	// Send and Broadcast, and from several goroutines at once: delete the subscription in it.
	OnGone func(context.Context, Subscription)

	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

const (
	defaultTimeout     = 30 * time.Second
	defaultConcurrency = 64
	defaultPatience    = 5 * time.Minute
)

// A Client encrypts, signs and sends messages. It is safe for concurrent use.
// Close it when done.
type Client struct {
	sealer       *Sealer
	signer       *Signer
	transport    http.RoundTripper
	ownTransport *http.Transport // nil if the caller gave one
	allow        func(origin string) bool
	timeout      time.Duration
	retry        Retry
	concurrency  int
	backlog      int
	patience     time.Duration
	rate         float64
	onAttempt    AttemptHook
	onGone       func(context.Context, Subscription)
	origins      *table[string, *origin]
	now          func() time.Time
}

// NewClient checks cfg and makes a client.
func NewClient(cfg Config) (*Client, error) {
	signer, err := NewSigner(SignerConfig{
		Keys: cfg.Keys, Subject: cfg.Subject, TokenLife: cfg.TokenLife,
		MaxOrigins: cfg.MaxOrigins, SignEachMessage: cfg.SignEachMessage, Now: cfg.Now,
	})
	if err != nil {
		return nil, err
	}
	if cfg.Timeout < 0 || cfg.Concurrency < 0 || cfg.Backlog < 0 || cfg.Patience < 0 || !(cfg.Rate >= 0) {
		return nil, errors.New("webpush: client: Timeout, Concurrency, Backlog, Patience or Rate is negative")
	}
	retry, err := cfg.Retry.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Client{
		signer: signer, transport: cfg.Transport, allow: cfg.AllowOrigin,
		timeout: cfg.Timeout, retry: retry, now: signer.now,
		concurrency: cmp.Or(cfg.Concurrency, defaultConcurrency), backlog: cmp.Or(cfg.Backlog, defaultBacklog),
		patience: cmp.Or(cfg.Patience, defaultPatience), rate: cfg.Rate, onAttempt: cfg.OnAttempt, onGone: cfg.OnGone,
		origins: newTable[string, *origin](cmp.Or(cfg.MaxOrigins, defaultMaxOrigins)),
	}
	c.timeout = cmp.Or(c.timeout, defaultTimeout)
	if c.sealer, err = newSealer(cfg.Reuse, signer.now); err != nil {
		return nil, err
	}
	if c.transport == nil {
		c.ownTransport = NewTransport(cfg.AllowAddress)
		c.transport = c.ownTransport
	}
	return c, nil
}

// Close ends the client's goroutines, forgets its reused keys and closes idle
// connections of its own transport. Messages under way are not stopped; later
// ones fail with [ErrClosed].
func (c *Client) Close() error {
	err := c.sealer.Close()
	if c.ownTransport != nil {
		c.ownTransport.CloseIdleConnections()
	}
	return err
}

// Sealer is the client's sealer.
func (c *Client) Sealer() *Sealer { return c.sealer }

// Signer is the client's signer.
func (c *Client) Signer() *Signer { return c.signer }

// AppendMessage prepares a message without building a request: it appends the body to dst and
// returns it with the header fields, for programs that send by other means. The request is a POST
// to [Subscription.Endpoint] with these fields, "Content-Encoding: aes128gcm" and the body.
func (c *Client) AppendMessage(dst, msg []byte, sub Subscription, opts Options) ([]byte, Header, error) {
	h, err := c.header(sub, &opts)
	if err != nil {
		return dst, Header{}, err
	}
	now := c.now()
	if h.Authorization, err = c.signer.authorization(sub.Origin(), c.signer.candidates(sub)[0], now); err != nil {
		return dst, Header{}, err
	}
	body, err := c.sealer.appendEncrypt(dst, msg, sub, opts.Padding, now)
	if err != nil {
		return dst, Header{}, err
	}
	return body, h, nil
}

// origin is what is known of an origin.
func (c *Client) origin(name string) *origin {
	return c.origins.get(name, time.Now().Unix(), newOrigin)
}

// header checks what can be checked before any work is done.
func (c *Client) header(sub Subscription, opts *Options) (Header, error) {
	if sub.IsZero() {
		return Header{}, errNoSubscription
	}
	if c.allow != nil && !c.allow(sub.Origin()) {
		return Header{}, &OriginError{Origin: sub.Origin()}
	}
	return opts.header()
}

// An OriginError is a subscription refused by [Config.AllowOrigin].
type OriginError struct {
	Origin string
}

func (e *OriginError) Error() string {
	return fmt.Sprintf("webpush: origin %s is not allowed", e.Origin)
}

// NewRequest prepares a message and returns it as a request that any
// [http.Client] or [http.RoundTripper] can send: RFC 8030 section 5. The body is
// in memory, its length is set, and GetBody returns it again. The request
// carries a valid VAPID token: send it soon and do not log its header.
//
// ctx becomes the request's context; it must not be nil.
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

// String shows the mode and the key ring.
func (c *Client) String() string {
	if c == nil {
		return "webpush.Client(none)"
	}
	return "webpush.Client(" + c.sealer.reuse.String() + ", " + c.signer.keys.String() + ")"
}

// Format prints the same as String, for every verb.
func (c *Client) Format(f fmt.State, _ rune) { writeRedacted(f, c.String()) }

// LogValue is what String gives.
func (c *Client) LogValue() slog.Value { return logRedacted(c.String()) }
