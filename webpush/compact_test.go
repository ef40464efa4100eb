package webpush

import (
	"fmt"
	"net/url"
	"runtime"
	"strings"
	"testing"
)

// parsedURL is the endpoint as net/url reads it, but for the host, which is the origin's: see
// TestForgedHosts.
func parsedURL(t testing.TB, sub Subscription) url.URL {
	t.Helper()
	u, err := url.Parse(sub.Endpoint())
	if err != nil {
		t.Fatal(err)
	}
	_, u.Host, _ = strings.Cut(sub.Origin(), "://")
	return *u
}

// TestEndpointsAreKept takes endpoints of every shape apart.
func TestEndpointsAreKept(t *testing.T) {
	endpoints := []string{
		"https://fcm.googleapis.com/fcm/send/cXy-z_12345:APA91bHun4MxP5egoKMwt2KZFBaFUH-1RYqx",
		"https://fcm.googleapis.com/fcm/send/:a", "https://fcm.googleapis.com/fcm/send/a:", "https://fcm.googleapis.com/fcm/send/a:b:c",
		"https://updates.push.services.mozilla.com/wpush/v2/gAAAAABYNX0F_-z03mY2cPTx",
		"https://web.push.apple.com/QF8w7V0M5Z3hbQiw4tIsMBJ",
		"https://db5p.notify.windows.com/w/?token=BQYAAADuof2gokJo%2f5NvhkH%2bffAV", "https://db5p.notify.windows.com/w/?token=BQYAAADuof2gokJo",
		"https://push.example", "https://push.example/", "https://push.example?a", "https://push.example/?", "https://push.example:8443/x/y?b=c&d=e/f",
		"https://push.example:/x", "https://PUSH.example/x", "https://[2001:db8::1]:8443/x", "https://push.example/a%2Fb/c", "https://push.example/a;b,c@d/e", "https://push.example//x",
		"https://push.example/" + strings.Repeat("d/", 60) + "x", "https://push.example/" + strings.Repeat("x", 300) + ":y",
	}
	for n := range 13 {
		endpoints = append(endpoints, "https://push.example/"+strings.Repeat("_z", 7)[:n])
	}
	for _, endpoint := range endpoints {
		sub := subscriptionAt(t, endpoint)
		if sub.Endpoint() != endpoint {
			t.Errorf("%s became %s", endpoint, sub.Endpoint())
		}
		if got, want := sub.requestURL(), parsedURL(t, sub); got != want {
			t.Errorf("%s: URL %+v, want %+v", endpoint, got, want)
		}
	}
}

// TestSubscriptionsAreSmall holds many in memory: at most 320 bytes and two
// allocations each, with the endpoints of the big services at their usual length.
func TestSubscriptionsAreSmall(t *testing.T) {
	const n = 20_000
	server := newKeys(t)
	for name, endpoint := range map[string]string{
		"Google":  "https://fcm.googleapis.com/fcm/send/%011d:APA91b" + strings.Repeat("x", 134),                     // 188 characters
		"Mozilla": "https://updates.push.services.mozilla.com/wpush/v2/gAAAAAB%011d" + strings.Repeat("x", 183-7-11), // 234
		"Apple":   "https://web.push.apple.com/Q%011d" + strings.Repeat("x", 160),
	} {
		subs := make([]Subscription, 0, n)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range n {
			subs = append(subs, subscriptionAt(t, fmt.Sprintf(endpoint, i), WithServerKey(server.PublicKey())))
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		bytes := float64(after.HeapAlloc-before.HeapAlloc)/n + 24 // and its place in the slice, made before
		objects := float64(after.HeapObjects-before.HeapObjects) / n
		t.Logf("%s: %.0f bytes and %.2f objects each", name, bytes, objects)
		if bytes > 320 || objects > 2 {
			t.Errorf("%s: %.0f bytes and %.2f objects each, at most 320 and 2", name, bytes, objects)
		}
		runtime.KeepAlive(subs)
	}
}
