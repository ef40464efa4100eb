package webpush

import (
	"crypto/ecdh"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"
)

// Sizes of the two keys of a subscription (RFC 8291 sections 3.1 and 3.2).
const (
	publicKeyBytes  = 65 // an uncompressed P-256 point
	authSecretBytes = 16
)

// maxSubscriptionBytes bounds the JSON of a subscription.
const maxSubscriptionBytes = 16 << 10

// A Subscription is one browser's agreement to receive messages: where to post
// them and the keys to encrypt them with. Make one with [ParseSubscription] or
// [NewSubscription] and keep it: parsing costs a check that a point is on the
// curve, sending does not.
//
// A Subscription is an immutable value of one word, safe for use by any number
// of goroutines. The zero value is not a subscription; sending to it fails.
//
// Formatting and logging it shows its origin and fingerprint only.
// [Subscription.MarshalJSON] gives all of it, authentication secret included,
// since that is how it is stored.
type Subscription struct {
	s *subscription
}

type subscription struct {
	endpoint   string
	url        url.URL
	origin     string
	public     *ecdh.PublicKey
	publicRaw  [publicKeyBytes]byte
	auth       [authSecretBytes]byte
	id         [sha256.Size]byte // of publicRaw and auth: a browser that subscribes again has another
	expires    int64             // milliseconds since 1970, 0 if not said
	serverKey  string            // the VAPID public key it was made with, "" if not known
	isInsecure bool
}

// A SubscriptionOption changes how a subscription is read.
type SubscriptionOption func(*subscriptionOptions)

type subscriptionOptions struct {
	insecure  bool
	serverKey string
}

// AllowHTTP accepts an endpoint with the scheme http. It is for tests against a
// server without TLS: RFC 8030 section 3 asks for https.
func AllowHTTP() SubscriptionOption {
	return func(o *subscriptionOptions) { o.insecure = true }
}

// WithServerKey records the VAPID public key (base64) that the browser was
// given as applicationServerKey when it subscribed. A push service refuses
// messages signed by any other (RFC 8292 section 4.2), so a [KeyRing] of more
// than one key needs it to pick the right one without trying.
func WithServerKey(publicKey string) SubscriptionOption {
	return func(o *subscriptionOptions) { o.serverKey = publicKey }
}

// subscriptionJSON is PushSubscriptionJSON of the Push API, with one member of
// ours that browsers do not write.
type subscriptionJSON struct {
	Endpoint       string `json:"endpoint"`
	ExpirationTime *int64 `json:"expirationTime"`
	Keys           struct {
		P256dh string `json:"p256dh"`
		Auth   string `json:"auth"`
	} `json:"keys"`
	ServerKey string `json:"applicationServerKey,omitempty"`
}

// ParseSubscription reads what PushSubscription.toJSON() of the Push API
// returns: endpoint, keys.p256dh, keys.auth and optionally expirationTime
// (milliseconds since 1970). Keys may be in any of the four base64 alphabets.
// An additional member applicationServerKey is read as [WithServerKey].
//
// It refuses more than 16 KiB, endpoints that are not https or that hold a user
// name, a fragment or a character outside ASCII, public keys that are not an
// uncompressed point on P-256, and authentication secrets that are not 16 bytes.
// Errors say which member is wrong and why, and never quote its value.
func ParseSubscription(data []byte, options ...SubscriptionOption) (Subscription, error) {
	if len(data) > maxSubscriptionBytes {
		return Subscription{}, fmt.Errorf("webpush: subscription: %d bytes, at most %d", len(data), maxSubscriptionBytes)
	}
	var j subscriptionJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return Subscription{}, fmt.Errorf("webpush: subscription: %w", jsonError(err))
	}
	if j.ServerKey != "" {
		options = append([]SubscriptionOption{WithServerKey(j.ServerKey)}, options...)
	}
	sub, err := NewSubscription(j.Endpoint, j.Keys.P256dh, j.Keys.Auth, options...)
	if err == nil && j.ExpirationTime != nil {
		sub.s.expires = *j.ExpirationTime
	}
	return sub, err
}

// jsonError keeps the place of a JSON error and drops the values it may quote.
func jsonError(err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("not JSON (at byte %d)", syntax.Offset)
	}
	if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s: not a %s", mistyped.Field, mistyped.Type)
	}
	return errors.New("not JSON")
}

// NewSubscription makes a subscription of its parts, for those who store them
// in columns. The checks are those of [ParseSubscription].
func NewSubscription(endpoint, p256dh, auth string, options ...SubscriptionOption) (Subscription, error) {
	var o subscriptionOptions
	for _, option := range options {
		option(&o)
	}
	s, err := newSubscription(endpoint, p256dh, auth, o)
	if err != nil {
		return Subscription{}, fmt.Errorf("webpush: subscription: %w", err)
	}
	return Subscription{s}, nil
}

func newSubscription(endpoint, p256dh, auth string, o subscriptionOptions) (*subscription, error) {
	u, origin, err := parseEndpoint(endpoint, o.insecure)
	if err != nil {
		return nil, err
	}
	s := &subscription{endpoint: endpoint, url: *u, origin: origin, isInsecure: u.Scheme != "https"}
	public, err := decodeKey("keys.p256dh", p256dh, publicKeyBytes)
	if err != nil {
		return nil, err
	}
	if public[0] != 4 {
		return nil, errors.New("keys.p256dh: not an uncompressed point (RFC 8291 section 3.1)")
	}
	if s.public, err = ecdh.P256().NewPublicKey(public); err != nil {
		return nil, errors.New("keys.p256dh: not a point on the P-256 curve")
	}
	secret, err := decodeKey("keys.auth", auth, authSecretBytes)
	if err != nil {
		return nil, err
	}
	copy(s.publicRaw[:], public)
	copy(s.auth[:], secret)
	s.id = subscriptionID(&s.publicRaw, &s.auth)
	if o.serverKey != "" {
		key, err := decodeKey("applicationServerKey", o.serverKey, publicKeyBytes)
		if err != nil {
			return nil, err
		}
		if _, err := ecdh.P256().NewPublicKey(key); err != nil {
			return nil, errors.New("applicationServerKey: not a point on the P-256 curve")
		}
		s.serverKey = encodeBase64(key)
	}
	return s, nil
}

func decodeKey(member, text string, sizeBytes int) ([]byte, error) {
	if text == "" {
		return nil, fmt.Errorf("%s: missing", member)
	}
	if len(text) > 4*sizeBytes {
		return nil, fmt.Errorf("%s: %d characters, far too long for %d bytes", member, len(text), sizeBytes)
	}
	b, err := decodeBase64(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", member, err)
	}
	if len(b) != sizeBytes {
		return nil, fmt.Errorf("%s: %d bytes, want %d", member, len(b), sizeBytes)
	}
	return b, nil
}

func subscriptionID(public *[publicKeyBytes]byte, auth *[authSecretBytes]byte) [sha256.Size]byte {
	var b [publicKeyBytes + authSecretBytes]byte
	copy(b[:], public[:])
	copy(b[publicKeyBytes:], auth[:])
	return sha256.Sum256(b[:])
}

// IsZero reports whether s is the zero value, which is no subscription.
func (s Subscription) IsZero() bool { return s.s == nil }

// Endpoint is the URL to post to, as the browser gave it. Treat it as a secret:
// where no VAPID key restricts it, whoever knows it may send.
func (s Subscription) Endpoint() string {
	if s.s == nil {
		return ""
	}
	return s.s.endpoint
}

// Origin is the endpoint's origin (RFC 6454): scheme, host in lower case, and
// the port unless it is the scheme's own. It is the audience of VAPID tokens.
func (s Subscription) Origin() string {
	if s.s == nil {
		return ""
	}
	return s.s.origin
}

// ServerKey is the VAPID public key the subscription was made with (unpadded
// base64url), or "" if that is not known. See [WithServerKey].
func (s Subscription) ServerKey() string {
	if s.s == nil {
		return ""
	}
	return s.s.serverKey
}

// Expires is the browser's expirationTime, if it gave one.
func (s Subscription) Expires() (time.Time, bool) {
	if s.s == nil || s.s.expires == 0 {
		return time.Time{}, false
	}
	return time.UnixMilli(s.s.expires), true
}

// Fingerprint is 16 hexadecimal digits that tell subscriptions apart in logs
// and reveal nothing of their keys: half of a hash of p256dh and auth. It is
// another one when the browser subscribes again.
func (s Subscription) Fingerprint() string {
	if s.s == nil {
		return ""
	}
	return hex.EncodeToString(s.s.id[:8])
}

// MarshalJSON writes the whole subscription in the form that
// [ParseSubscription] reads, authentication secret included: store it as you
// would a password.
func (s Subscription) MarshalJSON() ([]byte, error) {
	if s.s == nil {
		return []byte("null"), nil
	}
	j := subscriptionJSON{Endpoint: s.s.endpoint, ServerKey: s.s.serverKey}
	if s.s.expires != 0 {
		j.ExpirationTime = &s.s.expires
	}
	j.Keys.P256dh = encodeBase64(s.s.publicRaw[:])
	j.Keys.Auth = encodeBase64(s.s.auth[:])
	return json.Marshal(j)
}

// UnmarshalJSON is [ParseSubscription] without options; null gives the zero
// value.
func (s *Subscription) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*s = Subscription{}
		return nil
	}
	parsed, err := ParseSubscription(data)
	if err != nil {
		return err
	}
	*s = parsed
	return nil
}

// String is the origin and the fingerprint: enough to find the subscription,
// not enough to use it.
func (s Subscription) String() string {
	if s.s == nil {
		return "webpush.Subscription(none)"
	}
	return "webpush.Subscription(" + s.s.origin + " " + s.Fingerprint() + ")"
}

// Format prints what String does, whatever the verb.
func (s Subscription) Format(f fmt.State, _ rune) { writeRedacted(f, s.String()) }

// LogValue is what String gives.
func (s Subscription) LogValue() slog.Value { return logRedacted(s.String()) }
