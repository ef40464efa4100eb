package webpush

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

// hosts says where a message to an endpoint goes, each as the part of the program that decides it
// has it.
type hosts struct {
	origin   string // Subscription.Origin: compared by AllowOrigin, keys and pauses
	dialled  string // host and port that http.Transport connects to
	header   string // the request's Host
	audience string // of the token that is sent
}

var errDialled = errors.New("dialled")

// trace sends a message to sub through the client's own kind of transport, which stops where it
// would connect.
func (c *Client) trace(t testing.TB, sub Subscription) (h hosts) {
	t.Helper()
	request, err := c.NewRequest(t.Context(), sub, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	dialled := make(chan string, 8)
	transport := &http.Transport{DialContext: func(_ context.Context, _, address string) (net.Conn, error) {
		dialled <- address
		return nil, errDialled
	}}
	defer transport.CloseIdleConnections()
	if _, err := transport.RoundTrip(request); !errors.Is(err, errDialled) {
		t.Fatalf("%q: not dialled: %v", sub.Origin(), err)
	}
	h = hosts{origin: sub.Origin(), dialled: <-dialled, header: request.Host}
	_, payload, _ := strings.Cut(request.Header.Get("Authorization"), ".")
	payload, _, _ = strings.Cut(payload, ".")
	var claims struct{ Aud string }
	if err := json.Unmarshal(mustDecode(t, payload), &claims); err != nil {
		t.Fatal(err)
	}
	h.audience = claims.Aud
	return h
}

// check reports what names another host than the one that is dialled.
func (h hosts) check(t testing.TB) {
	t.Helper()
	host, port, err := net.SplitHostPort(h.dialled)
	if err != nil {
		t.Fatal(err)
	}
	scheme, _, _ := strings.Cut(h.origin, "://")
	want := scheme + "://" + host
	if strings.Contains(host, ":") {
		want = scheme + "://[" + host + "]"
	}
	if port != "443" {
		want += ":" + port
	}
	if h.origin != want || h.audience != want || scheme+"://"+h.header != want {
		t.Errorf("%s is dialled, but %+v", want, h)
	}
	if !utf8.ValidString(h.origin) {
		t.Errorf("origin %q is not UTF-8", h.origin)
	}
	if known := KnownPushService(h.origin); known && (port != "443" || !endsInService(host)) {
		t.Errorf("%s is dialled, and %s is known", h.dialled, h.origin)
	}
}

// endsInService says the same as KnownPushService, of a host, in another way.
func endsInService(host string) bool {
	for _, service := range []string{"fcm.googleapis.com", "android.googleapis.com", "jmt17.google.com", ".push.services.mozilla.com", ".push.apple.com", ".notify.windows.com"} {
		before, ok := strings.CutSuffix(host, service)
		if ok && (before == "") == (service[0] != '.') && strings.Trim(before, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == "" {
			return true
		}
	}
	return false
}

// forgedHosts are written so that a part of a program may read another host than the one that is
// connected to.
var forgedHosts = []string{
	"fcm.googleap%C4%B0s.com", "updates.push.serv%C4%B0ces.mozilla.com", "evil.com%EF%BC%8F.push.apple.com", "fcm.googleapis.com%FF", "%FF.push.apple.com",
	"fcm.googleap%c4%b1s.com", "evil.com%2F.push.apple.com", "evil.com%23.push.apple.com", "evil.com%3F.push.apple.com", "evil.com%40fcm.googleapis.com", "evil.com%5C.push.apple.com",
	"evil.com%00.push.apple.com", "evil.com%0d%0a.push.apple.com", "evil.com%20.push.apple.com", "evil.com%3A443.push.apple.com", "%66cm.googleapis.com", "fcm%2Egoogleapis.com",
	"evil.com\\.push.apple.com", "evil.com;.push.apple.com", "evil.com,.push.apple.com", "evil.com'.push.apple.com", "evil.com(.push.apple.com", "evil.com&.push.apple.com", "evil.com=.push.apple.com",
	"evil.com!.push.apple.com", "evil.com$.push.apple.com", "evil.com*.push.apple.com", "evil.com+.push.apple.com", "evil.com~.push.apple.com", "evil.com\".push.apple.com", "evil.com<.push.apple.com",
	".push.apple.com", "a..push.apple.com", "web.push.apple.com..", "web.push.apple.com.", "[fcm.googleapis.com]", "[::1].push.apple.com", "[::1%25.push.apple.com]", "[::ffff:127.0.0.1%25a]", "fcm.googleapis.com:443:443",
	"127.1", "0x7f.1", "0x7f000001", "2130706433", "017700000001", "1.2.3.4.5", "127.0.0.1.", "1.2.3.256", "01.2.3.4", strings.Repeat("a", 64) + ".push.apple.com", strings.Repeat("a.", 127) + "push.apple.com",
}

func TestForgedHosts(t *testing.T) {
	client := newWorkload(t).client(t, Config{})
	for _, host := range forgedHosts {
		for _, port := range []string{"", ":443", ":8443"} {
			sub, err := NewSubscription("https://"+host+port+"/x", testP256dh, testAuth)
			if err == nil {
				t.Errorf("%q is taken", host+port)
				client.trace(t, sub).check(t)
			} else if !strings.Contains(err.Error(), "endpoint: ") {
				t.Errorf("%q: %v", host, err)
			}
			if plain, err := url.PathUnescape(host); err == nil && plain != "fcm.googleapis.com" && KnownPushService("https://"+plain) || KnownPushService("https://"+host) {
				t.Errorf("%q is known", host)
			}
		}
	}
	for _, endpoint := range []string{
		"https://fcm.googleapis.com/fcm/send/a:b", "HTTPS://FCM.GOOGLEAPIS.COM:443/x", "https://Web.Push.Apple.COM:0443/x", "https://push.example:8443?x", "https://push.example:", "https://a_b.example/%2e%2e//x?y=@z:1/",
		"https://[2001:DB8::1]:443/x", "https://[2001:db8:0::0:1]:8443/", "https://[::FFFF:10.0.0.1]/", "https://10.0.0.1:1", "https://xn--bcher-kva.example/x", "https://push.example:80/",
	} {
		sub, err := NewSubscription(endpoint, testP256dh, testAuth)
		if err != nil {
			t.Errorf("%s: %v", endpoint, err)
			continue
		}
		client.trace(t, sub).check(t)
	}
}

// FuzzEndpoint holds what is parsed, dialled, signed and compared of an endpoint to one host. For ten minutes: go test -run '^$' -fuzz FuzzEndpoint -fuzztime 10m ./webpush
func FuzzEndpoint(f *testing.F) {
	for _, host := range forgedHosts {
		f.Add("https://" + host + "/x")
		if plain, err := url.PathUnescape(host); err == nil {
			f.Add("https://" + plain + ":443/x")
		}
	}
	for _, endpoint := range []string{
		"https://fcm.googleapis.com/fcm/send/a:b", "HTTPS://[2001:DB8::1]:443?x", "http://a:80", "https://a:b@fcm.googleapis.com", "https://fcm.googleapis.com#@evil.com/", "https:\\\\evil.com/fcm.googleapis.com",
		"https://evil.com?.push.apple.com", "https:/evil.com/x", "//evil.com", "https:evil.com",
	} {
		f.Add(endpoint)
	}
	client := newWorkload(f).client(f, Config{Reuse: SessionKeys(maxReuseTTL, 10)})
	f.Fuzz(func(t *testing.T, endpoint string) {
		sub, err := NewSubscription(endpoint, testP256dh, testAuth)
		if err != nil {
			return
		}
		if sub.Endpoint() != endpoint {
			t.Errorf("kept as %q", sub.Endpoint())
		}
		client.trace(t, sub).check(t)
	})
}
