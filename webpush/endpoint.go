package webpush

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxEndpointBytes bounds an endpoint. Those of the known push services are under 600 bytes.
const maxEndpointBytes = 4096

// parseEndpoint checks a push resource URL (RFC 8030 section 4). It gives its origin and where in
// the text its path begins. This is the only place that reads an endpoint's host: what is dialled,
// signed, compared and logged comes from the origin. Errors do not quote the URL: anyone who knows
// it may send to it.
func parseEndpoint(endpoint string) (origin string, pathAt int, err error) {
	if endpoint == "" {
		return "", 0, errors.New("endpoint: missing")
	}
	if len(endpoint) > maxEndpointBytes {
		return "", 0, fmt.Errorf("endpoint: %d bytes, at most %d", len(endpoint), maxEndpointBytes)
	}
	for i := range len(endpoint) {
		if endpoint[i] <= ' ' || endpoint[i] > '~' {
			return "", 0, errors.New("endpoint: holds a space, a control character or a character outside ASCII")
		}
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", 0, errors.New("endpoint: not a URL")
	}
	switch {
	case u.Scheme != "https":
		return "", 0, errors.New("endpoint: not an https URL (RFC 8030 section 3)")
	case u.User != nil:
		return "", 0, errors.New("endpoint: holds a user name or password")
	case u.Opaque != "" || u.Hostname() == "":
		return "", 0, errors.New("endpoint: has no host")
	case strings.Contains(endpoint, "#"):
		return "", 0, errors.New("endpoint: holds a fragment")
	}
	hostAt := len(u.Scheme) + len("://")
	pathAt = len(endpoint)
	if i := strings.IndexAny(endpoint[hostAt:], "/?"); i >= 0 {
		pathAt = hostAt + i
	}
	if u.Host != endpoint[hostAt:pathAt] { // it was decoded: %2E, a zone
		return "", 0, errHost
	}
	host, err := normaliseHost(u)
	if err != nil {
		return "", 0, err
	}
	return u.Scheme + "://" + host, pathAt, nil
}

var errHost = errors.New("endpoint: the host is neither a name of letters, digits, - and _ nor an address")

// normaliseHost writes the host as an origin has it (RFC 6454 section 6.2):
// lower case, and without https' own port.
func normaliseHost(u *url.URL) (string, error) {
	name := u.Hostname()
	if strings.HasPrefix(u.Host, "[") {
		address, err := netip.ParseAddr(name)
		if err != nil || !address.Is6() || address.Zone() != "" {
			return "", errors.New("endpoint: the host is not an IPv6 address")
		}
		name = "[" + address.String() + "]"
	} else if name = lowerASCII(name); !isHostName(name) {
		return "", errHost
	}
	port := u.Port()
	if port == "" {
		return name, nil // "host:" is "host" too (RFC 3986 section 6.2.3)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", errors.New("endpoint: the port is not between 1 and 65535")
	}
	if n == 443 {
		return name, nil
	}
	return name + ":" + strconv.FormatUint(n, 10), nil
}

// lowerASCII is strings.ToLower for ASCII alone: some other letters become ASCII by its rules.
func lowerASCII(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return 'A' <= r && r <= 'Z' }) {
		return text
	}
	b := []byte(text)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// isHostName reports whether name is an IPv4 address, or a name in lower case that no program reads
// as an address: 127.1 and 0x7f.1 are loopback to some (WHATWG URL, "ends in a number").
func isHostName(name string) bool {
	if a, err := netip.ParseAddr(name); err == nil {
		return a.Is4()
	}
	if len(name) > 253 { // RFC 1035 section 2.3.4
		return false
	}
	last := ""
	for last = range strings.SplitSeq(name, ".") {
		if last == "" || len(last) > 63 || strings.Trim(last, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	hex, isHex := strings.CutPrefix(last, "0x")
	return strings.Trim(last, "0123456789") != "" && !(isHex && strings.Trim(hex, "0123456789abcdef") == "")
}

// isRemoved reports whether the host has a name that is never given out (RFC 6761 section 6.4), as
// permanently-removed.invalid, which Edge on Android registers.
func isRemoved(origin string) bool {
	host, _, _ := strings.Cut(strings.TrimPrefix(origin, "https://"), ":")
	return strings.HasSuffix(host, ".invalid")
}

// KnownPushService reports whether origin belongs to one of the push services of the big browsers:
// Google (Chrome and most Chromium browsers), Mozilla, Apple and Microsoft. It is meant for
// [Config.AllowOrigin]: a subscription is a URL that a stranger hands you, and without a check your
// server will post to any https host it names. Origins are as [Subscription.Origin] gives them.
func KnownPushService(origin string) bool {
	host, ok := strings.CutPrefix(origin, "https://")
	if !ok || !isHostName(host) {
		return false
	}
	switch host {
	case "fcm.googleapis.com", "android.googleapis.com",
		"jmt17.google.com": // Chromium on every channel but Stable, and builds without Google's keys
		return true
	}
	return slices.ContainsFunc([]string{".push.services.mozilla.com", ".push.apple.com", ".notify.windows.com"}, func(suffix string) bool {
		return strings.HasSuffix(host, suffix)
	})
}
