package webpush

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxTokenLife is the longest a token may be valid (RFC 8292 section 2).
const maxTokenLife = 24 * time.Hour

// tokenSlack is a token's margin to both limits of what a push service accepts: the request has to
// arrive, and clocks differ. A token that expires in exactly 24 hours is refused by a service whose
// clock is a second behind ours.
const tokenSlack = 10 * time.Minute

// jwtHeader is the encoded JOSE header {"typ":"JWT","alg":"ES256"}.
var jwtHeader = encodeBase64([]byte(`{"typ":"JWT","alg":"ES256"}`))

// A token is a signed VAPID token as it goes into a request.
type token struct {
	header  string // value of Authorization
	expires int64  // seconds since 1970
}

// usable reports whether a push service would take t now, even if its clock is off by a few
// minutes: it expires neither within tokenSlack nor later than a token made now could. The second
// fails after the clock was set back.
func (t *token) usable(now int64) bool {
	left := t.expires - now
	return left > int64(tokenSlack/time.Second) && left <= int64((maxTokenLife-tokenSlack)/time.Second)
}

// signToken makes a token of the claims aud, exp and sub (RFC 8292 section 2), signed with ES256
// (RFC 7518 section 3.4). sub is JSON already. An iat claim is left out: no RFC here asks for it,
// and a service whose clock is behind could refuse it.
func signToken(keys *VAPIDKeys, origin string, expires int64, sub []byte) (*token, error) {
	claims := make([]byte, 0, 64+len(origin)+len(sub))
	claims = append(claims, `{"aud":"`...) // an origin holds nothing that JSON escapes
	claims = append(claims, origin...)
	claims = append(claims, `","exp":`...)
	claims = strconv.AppendInt(claims, expires, 10)
	claims = append(claims, `,"sub":`...)
	claims = append(claims, sub...)
	claims = append(claims, '}')

	b64 := base64.RawURLEncoding
	header := make([]byte, 0, 8+len(jwtHeader)+b64.EncodedLen(len(claims))+100+len(keys.public))
	header = append(header, "vapid t="...)
	signedFrom := len(header)
	header = append(header, jwtHeader...)
	header = append(header, '.')
	header = b64.AppendEncode(header, claims)

	digest := sha256.Sum256(header[signedFrom:])
	r, s, err := ecdsa.Sign(rand.Reader, keys.private, digest[:])
	if err != nil {
		return nil, fmt.Errorf("webpush: sign VAPID token for %s: %w", origin, err)
	}
	var signature [64]byte
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	header = append(header, '.')
	header = b64.AppendEncode(header, signature[:])
	header = append(header, ", k="...)
	header = append(header, keys.public...)
	return &token{header: string(header), expires: expires}, nil
}

// subjectJSON checks a contact (RFC 8292 section 2.1) and encodes it.
func subjectJSON(subject string) ([]byte, error) {
	invalid := errors.New(`webpush: subject: want "mailto:" and an address, or an https URL, for the push service to contact you (RFC 8292 section 2.1)`)
	scheme, rest, _ := strings.Cut(subject, ":")
	scheme = lowerASCII(scheme) // of any case (RFC 3986 section 3.1)
	subject = scheme + ":" + rest
	if strings.ContainsFunc(subject, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '<' || r == '>' }) {
		return nil, invalid
	}
	host := ""
	if at := strings.LastIndexByte(rest, '@'); scheme == "mailto" && at > 0 {
		host, _, _ = strings.Cut(rest[at+1:], "?")
	} else if u, err := url.Parse(subject); err == nil && scheme == "https" {
		host = u.Hostname()
	}
	if host == "" {
		return nil, invalid
	}
	if isLocal(host) {
		return nil, fmt.Errorf("webpush: subject: %s is not on the internet, so nobody there can reach it: Apple's push service answers 403 BadJwtToken to it; give an address or a page of yours that is", host)
	}
	return json.Marshal(subject)
}

// isLocal reports whether a host cannot be reached from elsewhere: it has a name that is reserved
// for that (RFC 6761, RFC 6762) or of one label, or an address that is not public. Apple refuses
// localhost (web-push-libs/web-push issue 947), .invalid (alphastorm/omp-session-gateway issue 173)
// and .local (0cv/herdr-mobile-relay issue 7).
func isLocal(host string) bool {
	host = lowerASCII(strings.TrimSuffix(host, "."))
	if address, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return !PublicAddress(address)
	}
	switch host[strings.LastIndexByte(host, '.')+1:] {
	case host, "localhost", "local", "invalid", "test", "example", "internal":
		return true
	}
	return false
}
