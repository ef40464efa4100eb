package webpush

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Options are what may differ from message to message. The zero value is usable.
type Options struct {
	// TTL is how long the push service keeps the message for a browser that is not connected (RFC
	// 8030 section 5.2), in whole seconds. 0 is [DefaultTTL]; [TTLZero] delivers at once or not at
	// all. The service may shorten it; see [Receipt.TTL].
	TTL time.Duration

	// Urgency tells a device that saves power whether to wake for the message (RFC 8030 section
	// 5.3). "" means normal.
	Urgency Urgency

	// Topic replaces a message with the same topic that was not delivered yet (RFC 8030 section
	// 5.4): at most 32 characters of A-Z a-z 0-9 - _, and not 1, 5, 9 and so on of them: Apple
	// reads it as base64.
	Topic string

	// Padding hides the length of the message. The zero value does not.
	Padding Padding

	// ContentType is "application/octet-stream" if it is "". A declarative message has
	// "application/notification+json".
	ContentType string

	// NoPayload sends no body at all, so that nothing is encrypted: the service worker's push event
	// has no data. The message must be empty, and ContentType and Padding not set.
	NoPayload bool

	// Header has what one service wants more, such as X-WNS-Cache-Policy. The fields that this
	// package sets cannot be changed.
	Header http.Header
}

// Check gives the error that sending with the options gives.
func (o Options) Check() error {
	_, err := o.header()
	return err
}

const (
	// DefaultTTL is the TTL of messages that set none: four weeks, the longest
	// that the known push services keep a message.
	DefaultTTL = 28 * 24 * time.Hour

	// TTLZero asks the push service to deliver at once or drop the message: the header "TTL: 0".
	TTLZero time.Duration = -1

	// maxTTL is 2^31-1 seconds, as RFC 8030 section 5.2 refers to RFC 7234 section 1.2.1.
	maxTTL = (1<<31 - 1) * time.Second

	defaultTTLHeader   = "2419200"
	defaultContentType = "application/octet-stream"
)

// An Urgency is a value of the Urgency header (RFC 8030 section 5.3).
type Urgency string

// The four urgencies.
const (
	UrgencyVeryLow Urgency = "very-low" // on power and Wi-Fi: advertisements
	UrgencyLow     Urgency = "low"      // on either power or Wi-Fi: topic updates
	UrgencyNormal  Urgency = "normal"   // on neither: chat or calendar messages
	UrgencyHigh    Urgency = "high"     // with a low battery: calls, time-sensitive alerts
)

// A Header holds the header fields of a push request. Fields that are "" are
// left out of the request.
type Header struct {
	Authorization string // "vapid t=..., k=...": a secret
	ContentType   string
	TTL           string // decimal seconds
	Urgency       string
	Topic         string
	Extra         http.Header // what [Options.Header] adds

	expires int64 // when the token does, in seconds since 1970
}

// String leaves out the token.
func (h Header) String() string {
	return fmt.Sprintf("webpush.Header(Content-Type %s, TTL %s, Urgency %q, Topic %q)", h.ContentType, h.TTL, h.Urgency, h.Topic)
}

// Format prints the same as String, for every verb.
func (h Header) Format(f fmt.State, _ rune) { writeRedacted(f, h.String()) }

// MarshalJSON is an error, because log/slog writes slices, maps and structs with encoding/json, and
// a log must not tell the token.
func (h Header) MarshalJSON() ([]byte, error) {
	return nil, errors.New("webpush: a Header is not encoded, so that no log tells its token: take its fields")
}

// LogValue is what String gives.
func (h Header) LogValue() slog.Value { return slog.StringValue(h.String()) }

// header checks o and returns the header fields, without Authorization.
func (o *Options) header() (h Header, err error) {
	if h.TTL, err = ttlHeader(o.TTL); err != nil {
		return h, err
	}
	if o.TTL > 0 && o.TTL < time.Second {
		return h, fmt.Errorf("webpush: TTL %s: less than a second; write %d * time.Second", o.TTL, o.TTL)
	}
	for name := range o.Header {
		switch name = http.CanonicalHeaderKey(name); name {
		case "Authorization", "Content-Encoding", "Content-Length", "Content-Type", "Host", "Topic", "Ttl", "Urgency":
			return h, fmt.Errorf("webpush: header field %s: set by this package", name)
		}
	}
	h.Extra = o.Header
	switch o.Urgency {
	case "", UrgencyVeryLow, UrgencyLow, UrgencyNormal, UrgencyHigh:
		h.Urgency = string(o.Urgency)
	default:
		return h, fmt.Errorf("webpush: urgency %q: want very-low, low, normal or high (RFC 8030 section 5.3)", o.Urgency)
	}
	if err := checkTopic(o.Topic); err != nil {
		return h, err
	}
	h.Topic = o.Topic
	if o.NoPayload {
		if o.ContentType != "" || o.Padding != (Padding{}) {
			return h, errors.New("webpush: NoPayload with a content type or padding")
		}
		return h, nil
	}
	if h.ContentType = o.ContentType; h.ContentType == "" {
		h.ContentType = defaultContentType
		return h, nil
	}
	if strings.ContainsFunc(h.ContentType, func(r rune) bool { return r < ' ' || r > '~' }) {
		return h, fmt.Errorf("webpush: content type %q: holds a character that a header field may not", h.ContentType)
	}
	return h, nil
}

// appendBody appends the body of the request. It is never nil, but may be empty.
func (o *Options) appendBody(s *sealer, dst, msg []byte, sub Subscription, now time.Time) ([]byte, error) {
	switch {
	case !o.NoPayload:
		return s.appendEncrypt(dst, msg, sub, o.Padding, now)
	case len(msg) > 0:
		return dst, errors.New("webpush: NoPayload with a message")
	case s.closed.Load():
		return dst, ErrClosed
	case dst == nil:
		return []byte{}, nil
	}
	return dst, nil
}

// ttl is how long the message lives.
func (o *Options) ttl() time.Duration {
	switch o.TTL {
	case 0:
		return DefaultTTL
	case TTLZero:
		return 0
	}
	return o.TTL
}

func ttlHeader(ttl time.Duration) (string, error) {
	switch {
	case ttl == 0 || ttl == DefaultTTL:
		return defaultTTLHeader, nil
	case ttl == TTLZero:
		return "0", nil
	case ttl < 0 || ttl > maxTTL:
		return "", fmt.Errorf("webpush: TTL %s: must be between 0 and 2147483647 seconds (RFC 8030 section 5.2)", ttl)
	}
	return strconv.FormatInt(int64((ttl+time.Second-1)/time.Second), 10), nil
}

func checkTopic(topic string) error {
	if len(topic) > 32 {
		return fmt.Errorf("webpush: topic of %d characters, at most 32 (RFC 8030 section 5.4)", len(topic))
	}
	if len(topic)%4 == 1 {
		return fmt.Errorf("webpush: topic %q: Apple refuses topics of %d characters, because no base64 has this length; add one", topic, len(topic))
	}
	if strings.Trim(topic, alphabet) != "" {
		return fmt.Errorf("webpush: topic %q: a character is not one of A-Z a-z 0-9 - _ (RFC 8030 section 5.4)", topic)
	}
	return nil
}
