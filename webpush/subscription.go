package webpush

import (
	"bytes"
	"crypto/ecdh"
	"crypto/sha256"
	"database/sql/driver"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"unique"
	"unsafe"
)

// Sizes of the two keys of a subscription (RFC 8291 sections 3.1 and 3.2).
const (
	publicKeyBytes  = 65 // an uncompressed P-256 point
	authSecretBytes = 16
)

// maxSubscriptionBytes bounds the JSON of a subscription.
const maxSubscriptionBytes = 16 << 10

// A Subscription is one browser's agreement to receive messages: where to post them and the keys to
// encrypt them with. Make one with [ParseSubscription] or [NewSubscription] and keep it: it takes
// less than 320 bytes. It is an immutable value; copies of it are equal (==). The zero value is not
// a subscription; sending to it fails.
//
// Formatting and logging it shows its origin and fingerprint only. [Subscription.JSON] gives all of
// it, to be stored.
type Subscription struct {
	base unique.Handle[endpointBase]
	data *byte // keys and the rest of the endpoint: see compact.go
	size int   // of data, in bytes
}

// A SubscriptionOption says more than the browser's JSON does.
type SubscriptionOption struct{ serverKey string }

// WithServerKey records the VAPID public key (base64) that the browser subscribed with. A push
// service refuses messages signed by any other (RFC 8292 section 4.2), so with several keys in a
// [KeyRing] it saves trying them.
func WithServerKey(publicKey string) SubscriptionOption { return SubscriptionOption{publicKey} }

// subscriptionJSON is PushSubscriptionJSON of the Push API, with two members that browsers do not
// write.
type subscriptionJSON struct {
	Endpoint string `json:"endpoint"`
	Keys     struct {
		P256dh string `json:"p256dh"`
		Auth   string `json:"auth"`
	} `json:"keys"`
	ServerKey    string          `json:"applicationServerKey,omitempty"`
	Subscription json.RawMessage `json:"subscription,omitempty"`
}

// readSubscriptionJSON also takes a byte order mark, JSON that was encoded twice, and a
// subscription in an object.
func readSubscriptionJSON(data []byte) (j subscriptionJSON, err error) {
	for range 2 {
		data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
		var text string
		if bytes.HasPrefix(data, []byte(`"`)) && json.Unmarshal(data, &text) == nil {
			data = []byte(text)
		}
		j = subscriptionJSON{}
		if err := json.Unmarshal(data, &j); err != nil || j.Endpoint != "" || j.Subscription == nil {
			return j, err
		}
		data = j.Subscription
	}
	return j, nil
}

// ParseSubscription reads what PushSubscription.toJSON() of the Push API returns: endpoint,
// keys.p256dh and keys.auth in any of the four base64 alphabets. A member
// applicationServerKey is read as [WithServerKey]; expirationTime is not read: services say when a
// subscription has ended. As databases hold it, the JSON may be
// encoded twice, begin with a byte order mark, or be the member subscription of an object.
//
// It refuses endpoints that are not https or that hold a user name, a fragment or a character
// outside ASCII, and keys that are not as RFC 8291 wants them. Errors say which member is wrong and
// why, and never quote its value.
func ParseSubscription(data []byte, options ...SubscriptionOption) (Subscription, error) {
	if len(data) > maxSubscriptionBytes {
		return Subscription{}, fmt.Errorf("webpush: subscription: %d bytes, at most %d", len(data), maxSubscriptionBytes)
	}
	j, err := readSubscriptionJSON(data)
	if err != nil {
		return Subscription{}, fmt.Errorf("webpush: subscription: %w", jsonError(err))
	}
	if j.ServerKey != "" {
		options = append([]SubscriptionOption{WithServerKey(j.ServerKey)}, options...)
	}
	return NewSubscription(j.Endpoint, j.Keys.P256dh, j.Keys.Auth, options...)
}

// jsonError keeps the place of a JSON error and drops the values it may quote.
func jsonError(err error) error {
	if syntax, ok := asType[*json.SyntaxError](err); ok {
		return fmt.Errorf("not JSON (at byte %d)", syntax.Offset)
	}
	if mistyped, ok := asType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s: not a %s", mistyped.Field, strings.Replace(mistyped.Type.String(), "float64", "number", 1))
	}
	return errors.New("not JSON")
}

// NewSubscription makes a subscription from its parts, for programs that store them in columns. It
// checks what [ParseSubscription] checks.
func NewSubscription(endpoint, p256dh, auth string, options ...SubscriptionOption) (Subscription, error) {
	serverKey := ""
	for _, option := range options {
		serverKey = option.serverKey
	}
	s, err := newSubscription(endpoint, p256dh, auth, serverKey)
	if err != nil {
		return Subscription{}, fmt.Errorf("webpush: subscription: %w", err)
	}
	return s, nil
}

func newSubscription(endpoint, p256dh, auth, serverKey string) (Subscription, error) {
	var s Subscription
	origin, pathAt, err := parseEndpoint(endpoint)
	if err != nil {
		return s, err
	}
	public, err := decodeKey("keys.p256dh", p256dh, publicKeyBytes)
	if err != nil {
		return s, err
	}
	if public[0] != 4 {
		return s, errors.New("keys.p256dh: not an uncompressed point (RFC 8291 section 3.1)")
	}
	if _, err = ecdh.P256().NewPublicKey(public); err != nil {
		return s, errors.New("keys.p256dh: not a point on the P-256 curve")
	}
	secret, err := decodeKey("keys.auth", auth, authSecretBytes)
	if err != nil {
		return s, err
	}
	if serverKey != "" {
		key, err := decodeKey("applicationServerKey", serverKey, publicKeyBytes)
		if err != nil {
			return s, err
		}
		if _, err := ecdh.P256().NewPublicKey(key); err != nil {
			return s, errors.New("applicationServerKey: not a point on the P-256 curve")
		}
		serverKey = encodeBase64(key)
	}
	base, token := newBase(endpoint, pathAt, origin, serverKey)
	data := make([]byte, 0, flagsAt+16+len(token))
	data = append(append(data, public[1:]...), secret...)
	flag := byte(0)
	if rest := endpoint[pathAt:]; strings.HasPrefix(rest, "/") && strings.Trim(rest, alphabet+"/.~:?=&") == "" && !strings.HasSuffix(rest, "?") {
		flag = isPlain
	}
	text := string(append(append(data, flag), token...))
	return Subscription{base, unsafe.StringData(text), len(text)}, nil
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

// raw is what data points to. It is no string, because fmt calls no method of a caller's field that
// is not exported, and would print it; of a pointer to a byte it prints the number.
func (s Subscription) raw() string { return unsafe.String(s.data, s.size) }

// appendPublic appends the browser's public key, an uncompressed point.
func (s Subscription) appendPublic(dst []byte) []byte {
	return append(append(dst, 4), s.raw()[:authAt]...)
}

// auth is the authentication secret.
func (s Subscription) auth() string { return s.raw()[authAt:flagsAt] }

// keys identifies the browser's subscription: every subscription has different keys.
func (s Subscription) keys() string { return s.raw()[:flagsAt] }

// IsZero reports whether s is the zero value, which is no subscription.
func (s Subscription) IsZero() bool { return s.data == nil }

// Endpoint is the URL to post to, as the browser gave it. Treat it as a secret:
// where no VAPID key restricts it, anyone who knows it may send.
func (s Subscription) Endpoint() string {
	if s.IsZero() {
		return ""
	}
	base := s.base.Value()
	return s.endpoint(&base)
}

// Origin is the endpoint's origin (RFC 6454): scheme, host in lower case, and
// the port unless it is the scheme's own. It is the audience of VAPID tokens.
func (s Subscription) Origin() string {
	if s.IsZero() {
		return ""
	}
	return s.base.Value().origin
}

// ServerKey is the VAPID public key the subscription was made with (unpadded
// base64url), or "" if that is not known. See [WithServerKey].
func (s Subscription) ServerKey() string {
	if s.IsZero() {
		return ""
	}
	return s.base.Value().serverKey
}

// Fingerprint is 16 hexadecimal digits of a SHA-256 of keys and endpoint. It tells subscriptions
// apart in logs and journals, and changes when the browser subscribes again.
func (s Subscription) Fingerprint() string {
	if s.IsZero() {
		return ""
	}
	return fmt.Sprintf("%016x", s.id())
}

func (s Subscription) id() uint64 {
	hash := sha256.New()
	hash.Write(append(s.appendPublic(nil), s.auth()...))
	hash.Write([]byte(s.Endpoint()))
	return binary.BigEndian.Uint64(hash.Sum(nil))
}

// JSON is the whole subscription as [ParseSubscription] reads it: store it as you would a password.
// It is null for the zero value.
func (s Subscription) JSON() json.RawMessage {
	if s.IsZero() {
		return json.RawMessage("null")
	}
	j := subscriptionJSON{Endpoint: s.Endpoint(), ServerKey: s.ServerKey()}
	j.Keys.P256dh = encodeBase64(s.appendPublic(nil))
	j.Keys.Auth = encodeBase64([]byte(s.auth()))
	text, err := json.Marshal(j)
	if err != nil {
		return json.RawMessage("null") // impossible: it is text and a number
	}
	return text
}

// MarshalJSON is an error, because log/slog writes slices, maps and structs with encoding/json, and
// a log must not tell the endpoint and the secret. To store it, use [StoredSubscription].
func (s Subscription) MarshalJSON() ([]byte, error) {
	return nil, errors.New("webpush: a Subscription is not encoded, so that no log tells its secret: to store it, use StoredSubscription or the method JSON")
}

// A StoredSubscription is a [Subscription] whose JSON is all of it, as a field of what is stored.
// Logged within a struct or a slice by log/slog, it tells its secret.
type StoredSubscription struct{ Subscription }

// MarshalJSON is [Subscription.JSON].
func (s StoredSubscription) MarshalJSON() ([]byte, error) { return s.JSON(), nil }

// Value is the JSON as a string, for a column of a database; nil for the zero value.
func (s Subscription) Value() (driver.Value, error) {
	if s.IsZero() {
		return nil, nil
	}
	return string(s.JSON()), nil
}

// Scan reads the JSON out of a column of a database. NULL gives the zero value.
func (s *Subscription) Scan(column any) error {
	switch text := column.(type) {
	case nil:
		return s.UnmarshalJSON([]byte("null"))
	case []byte:
		return s.UnmarshalJSON(text)
	case string:
		return s.UnmarshalJSON([]byte(text))
	}
	return fmt.Errorf("webpush: subscription: column of type %T, want text, bytes or JSON", column)
}

// UnmarshalJSON is [ParseSubscription] without options; null gives the zero value.
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

// String is the origin and the fingerprint: enough to find the subscription, not enough to use it.
func (s Subscription) String() string {
	if s.IsZero() {
		return "webpush.Subscription(none)"
	}
	return "webpush.Subscription(" + s.Origin() + " " + s.Fingerprint() + ")"
}

// Format prints the same as String, for every verb.
func (s Subscription) Format(f fmt.State, _ rune) { writeRedacted(f, s.String()) }

// LogValue is what String gives.
func (s Subscription) LogValue() slog.Value { return slog.StringValue(s.String()) }
