package webpush

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// maxEndpointBytes bounds an endpoint. Those of the known push services are
// under 600 bytes.
const maxEndpointBytes = 4096

// parseEndpoint checks a push resource URL (RFC 8030 section 4) and returns it
// parsed, with its origin. Errors do not quote the URL: anyone who knows it may
// send to it.
func parseEndpoint(endpoint string, insecure bool) (*url.URL, string, error) {
	if endpoint == "" {
		return nil, "", errors.New("endpoint: missing")
	}
	if len(endpoint) > maxEndpointBytes {
		return nil, "", fmt.Errorf("endpoint: %d bytes, at most %d", len(endpoint), maxEndpointBytes)
	}
	for i := range len(endpoint) {
		if endpoint[i] <= ' ' || endpoint[i] > '~' {
			return nil, "", errors.New("endpoint: holds a space, a control character or a character outside ASCII")
		}
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, "", errors.New("endpoint: not a URL")
	}
	switch {
	case u.Scheme == "https":
	case u.Scheme == "http" && insecure:
	case u.Scheme == "http":
		return nil, "", errors.New("endpoint: http, but RFC 8030 section 3 asks for https")
	default:
		return nil, "", errors.New("endpoint: not an https URL")
	}
	if u.User != nil {
		return nil, "", errors.New("endpoint: holds a user name or password")
	}
	if u.Opaque != "" || u.Hostname() == "" {
		return nil, "", errors.New("endpoint: has no host")
	}
	if strings.Contains(endpoint, "#") {
		return nil, "", errors.New("endpoint: holds a fragment")
	}
	host, err := normaliseHost(u)
	if err != nil {
		return nil, "", err
	}
	u.Host = strings.TrimSuffix(u.Host, ":") // as http.NewRequest does
	return u, u.Scheme + "://" + host, nil
}

// normaliseHost writes the host as an origin has it (RFC 6454 section 6.2):
// lower case, and without the scheme's own port.
func normaliseHost(u *url.URL) (string, error) {
	name := strings.ToLower(u.Hostname())
	if strings.ContainsAny(name, "%\"\\<>^`{|}") {
		return "", errors.New("endpoint: the host holds a character that no host may")
	}
	if strings.Contains(name, ":") {
		if net.ParseIP(name) == nil {
			return "", errors.New("endpoint: the host is not an IPv6 address")
		}
		name = "[" + name + "]"
	}
	port := u.Port()
	if port == "" {
		return name, nil // "host:" is "host" too (RFC 3986 section 6.2.3)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", errors.New("endpoint: the port is not between 1 and 65535")
	}
	if (u.Scheme == "https" && n == 443) || (u.Scheme == "http" && n == 80) {
		return name, nil
	}
	return name + ":" + strconv.FormatUint(n, 10), nil
}

// KnownPushService reports whether origin belongs to one of the push services
// of the big browsers: Google (Chrome and most Chromium browsers), Mozilla,
// Apple and Microsoft. It is meant for [Config.AllowOrigin]: a subscription is
// a URL that a stranger hands you, and without a check your server will post to
// any https host it names. Origins are as [Subscription.Origin] gives them.
func KnownPushService(origin string) bool {
	host, ok := strings.CutPrefix(origin, "https://")
	if !ok || strings.Contains(host, ":") {
		return false
	}
	switch host {
	case "fcm.googleapis.com", "android.googleapis.com",
		"jmt17.google.com": // Chromium on every channel but Stable, and builds without Google's keys
		return true
	}
	for _, suffix := range []string{".push.services.mozilla.com", ".push.apple.com", ".notify.windows.com"} {
		if strings.HasSuffix(host, suffix) {
			return true
		}
	}
	return false
}
