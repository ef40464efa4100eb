package webpush

import (
	"encoding/base64"
	"encoding/binary"
	"net/url"
	"strings"
	"unique"
)

// A service holds a million subscriptions in memory, so each is one string of
// bytes beside a word for what it shares with others:
//
//	public key without its first byte (64), authentication secret (16),
//	flags (1), expiry if flagged (8), place of a colon if flagged (1),
//	the last part of the endpoint, packed if flagged
//
// What comes before that last part (scheme, host, path) and the key that the
// subscription was made with are the same for many, and kept once.

const (
	authAt  = publicKeyBytes - 1
	flagsAt = authAt + authSecretBytes
)

// Flags.
const (
	isPacked = 1 << iota // the token is of base64url characters: four in three bytes, then the rest
	hasThree             // three of its characters are left over
	hasColon             // a colon was taken out of it, as FCM's tokens have
	hasExpiry
)

// endpointBase is what subscriptions share. The zero value means no endpoint.
type endpointBase struct {
	origin    string
	before    string // the endpoint up to the token
	serverKey string // the VAPID public key that the subscription was made with, "" if not known
	pathAt    int    // where in the endpoint the path begins
	plain     bool   // the path, as far as it is in before, has nothing that needs decoding
}

// newBase splits an endpoint at its last slash or equals sign.
func newBase(endpoint string, pathAt int, origin, serverKey string) (base unique.Handle[endpointBase], token string) {
	cut := max(strings.LastIndexAny(endpoint, "/=")+1, pathAt)
	if cut > pathAt+64 { // nothing that others would share
		cut = pathAt
	}
	path, _, _ := strings.Cut(endpoint[pathAt:cut], "?")
	return unique.Make(endpointBase{
		origin: origin, before: endpoint[:cut], serverKey: serverKey, pathAt: pathAt,
		plain: strings.Trim(path, alphabet+"/.~") == "",
	}), endpoint[cut:]
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// pack appends flags, expiry and token to the keys.
func pack(data []byte, expires int64, token string) []byte {
	flags := byte(0)
	text := token
	colon := strings.IndexByte(token, ':')
	if colon >= 0 && colon < 256 {
		text = token[:colon] + token[colon+1:]
	}
	packed := strings.Trim(text, alphabet) == "" && text != ""
	if packed {
		flags |= isPacked
		if colon >= 0 {
			flags |= hasColon
		}
		if len(text)%4 == 3 { // which take three bytes, as four do
			flags |= hasThree
		}
	}
	if expires != 0 {
		flags |= hasExpiry
	}
	data = append(data, flags)
	if expires != 0 {
		data = binary.BigEndian.AppendUint64(data, uint64(expires))
	}
	if !packed {
		return append(data, token...)
	}
	if colon >= 0 {
		data = append(data, byte(colon))
	}
	whole := len(text) / 4 * 4
	data, _ = base64.RawURLEncoding.AppendDecode(data, []byte(text[:whole])) // all are of the alphabet
	return append(data, text[whole:]...)
}

// appendToken appends the last part of the endpoint.
func (s Subscription) appendToken(dst []byte) []byte {
	rest, flags := s.raw()[flagsAt+1:], s.raw()[flagsAt]
	if flags&hasExpiry != 0 {
		rest = rest[8:]
	}
	if flags&isPacked == 0 {
		return append(dst, rest...)
	}
	colon := -1
	if flags&hasColon != 0 {
		colon, rest = int(rest[0]), rest[1:]
	}
	start, whole := len(dst), len(rest)/3*3
	if flags&hasThree != 0 {
		whole -= 3
	}
	dst = append(base64.RawURLEncoding.AppendEncode(dst, []byte(rest[:whole])), rest[whole:]...)
	if colon >= 0 {
		dst = append(dst, 0)
		copy(dst[start+colon+1:], dst[start+colon:])
		dst[start+colon] = ':'
	}
	return dst
}

// endpoint is the endpoint as the browser gave it.
func (s Subscription) endpoint(base *endpointBase) string {
	var room [512]byte // for nearly all of them
	return string(s.appendToken(append(room[:0], base.before...)))
}

// requestURL is what url.Parse makes of the endpoint, but for the host, which is the origin's.
func (s Subscription) requestURL() url.URL {
	base := s.base.Value()
	endpoint := s.endpoint(&base)
	scheme, host, _ := strings.Cut(base.origin, "://")
	if base.plain && s.raw()[flagsAt]&isPacked != 0 && base.pathAt < len(endpoint) && endpoint[base.pathAt] == '/' {
		u := url.URL{Scheme: scheme, Host: host}
		u.Path, u.RawQuery, _ = strings.Cut(endpoint[base.pathAt:], "?")
		return u
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return url.URL{} // impossible: it was parsed when the subscription was made
	}
	u.Host = host
	return *u
}
