package webpush

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
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

	// Transport sends the requests; nil is one with HTTP/2, made for this
	// client. Redirects are never followed and cookies never kept.
	Transport http.RoundTripper

	// Timeout bounds one attempt, from connecting to the end of the answer;
	// 0 is 30 seconds.
	Timeout time.Duration

	// Retry says when to try again.
	Retry Retry

	// Concurrency bounds the requests that a [Client.Broadcast] has under way;
	// 0 is 64.
	Concurrency int

	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

const (
	defaultTimeout     = 30 * time.Second
	defaultConcurrency = 64
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
	if cfg.Timeout < 0 || cfg.Concurrency < 0 {
		return nil, errors.New("webpush: client: Timeout or Concurrency is negative")
	}
	retry, err := cfg.Retry.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Client{
		signer: signer, transport: cfg.Transport, allow: cfg.AllowOrigin,
		timeout: cfg.Timeout, retry: retry, concurrency: cfg.Concurrency, now: signer.now,
	}
	if c.timeout == 0 {
		c.timeout = defaultTimeout
	}
	if c.concurrency == 0 {
		c.concurrency = defaultConcurrency
	}
	if c.sealer, err = newSealer(cfg.Reuse, signer.now); err != nil {
		return nil, err
	}
	if c.transport == nil {
		c.ownTransport = newTransport()
		c.transport = c.ownTransport
	}
	return c, nil
}

// newTransport makes a transport that multiplexes the messages of an origin
// over HTTP/2 and notices when a connection has died.
func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    defaultConcurrency,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
	}
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

// AppendMessage prepares a message without building a request: it appends the
// body to dst and returns it with the header fields, for those who send by
// other means. The request is a POST to [Subscription.Endpoint] with these
// fields, "Content-Encoding: aes128gcm" and the body.
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

// Format prints what String does, whatever the verb.
func (c *Client) Format(f fmt.State, _ rune) { writeRedacted(f, c.String()) }

// LogValue is what String gives.
func (c *Client) LogValue() slog.Value { return logRedacted(c.String()) }
