package webpush

import (
	"net/url"
	"strings"
	"unique"
)

// A service holds a million subscriptions in memory, so each is one string of bytes beside a word
// for what it shares with others:
//
//	public key without its first byte (64), authentication secret (16), flags (1),
//	the last part of the endpoint
//
// What comes before that last part (scheme, host, path) and the key that the
// subscription was made with are the same for many, and kept once.

const (
	authAt  = publicKeyBytes - 1
	flagsAt = authAt + authSecretBytes
)

// isPlain is the flag of an endpoint in which nothing needs decoding.
const isPlain = 1

// endpointBase is what subscriptions share. The zero value means no endpoint.
type endpointBase struct {
	origin    string
	before    string // the endpoint up to the token
	serverKey string // the VAPID public key that the subscription was made with, "" if not known
	pathAt    int    // where in the endpoint the path begins
}

// newBase splits an endpoint at its last slash or equals sign.
func newBase(endpoint string, pathAt int, origin, serverKey string) (base unique.Handle[endpointBase], token string) {
	cut := max(strings.LastIndexAny(endpoint, "/=")+1, pathAt)
	if cut > pathAt+64 { // nothing that others would share
		cut = pathAt
	}
	return unique.Make(endpointBase{origin: origin, before: endpoint[:cut], serverKey: serverKey, pathAt: pathAt}), endpoint[cut:]
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// endpoint is the endpoint as the browser gave it.
func (s Subscription) endpoint(base *endpointBase) string {
	return base.before + s.raw()[flagsAt+1:]
}

// requestURL is what url.Parse makes of the endpoint, but for the host, which is the origin's.
func (s Subscription) requestURL() url.URL {
	base := s.base.Value()
	endpoint := s.endpoint(&base)
	scheme, host, _ := strings.Cut(base.origin, "://")
	if s.raw()[flagsAt] == isPlain {
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
