package webpush

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const (
	testP256dh = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
	testAuth   = "BTBZMqHH6r4Tts7J_aSIgg"
)

func subscriptionText(endpoint, p256dh, auth string) []byte {
	return fmt.Appendf(nil, `{"endpoint":%q,"expirationTime":null,"keys":{"p256dh":%q,"auth":%q}}`, endpoint, p256dh, auth)
}

func TestParseSubscription(t *testing.T) {
	public, auth := mustDecode(t, testP256dh), mustDecode(t, testAuth)
	for name, alphabet := range map[string]*base64.Encoding{
		"URL, unpadded": base64.RawURLEncoding, "URL, padded": base64.URLEncoding,
		"standard, unpadded": base64.RawStdEncoding, "standard, padded": base64.StdEncoding,
	} {
		text := subscriptionText("https://push.example/x", alphabet.EncodeToString(public), alphabet.EncodeToString(auth))
		sub, err := ParseSubscription(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !bytes.Equal(sub.appendPublic(nil), public) || sub.auth() != string(auth) {
			t.Errorf("%s: keys differ", name)
		}
	}
	sub := subscriptionAt(t, "https://push.example/x")
	if sub.Endpoint() != "https://push.example/x" || sub.IsZero() || len(sub.Fingerprint()) != 16 {
		t.Errorf("%s, %s", sub.Endpoint(), sub.Fingerprint())
	}
}

func TestOrigin(t *testing.T) {
	for endpoint, want := range map[string]string{
		"https://push.example/x":                 "https://push.example",
		"HTTPS://PUSH.Example:443/x":             "https://push.example",
		"https://push.example:/x":                "https://push.example",
		"https://push.example:8443/x?y=z":        "https://push.example:8443",
		"https://push.example:08443/x":           "https://push.example:8443",
		"https://[2001:DB8::1]:443/x":            "https://[2001:db8::1]",
		"https://[2001:db8::1]:444/x":            "https://[2001:db8::1]:444",
		"https://127.0.0.1:1/x":                  "https://127.0.0.1:1",
		"https://xn--bcher-kva.example/x":        "https://xn--bcher-kva.example",
		"https://wns2-a.notify.windows.com/?t=x": "https://wns2-a.notify.windows.com",
	} {
		sub, err := NewSubscription(endpoint, testP256dh, testAuth)
		if err != nil || sub.Origin() != want {
			t.Errorf("%s: %q, %v", endpoint, sub.Origin(), err)
		}
	}
}

// TestParseSubscriptionRefuses also checks that no error repeats a secret.
func TestParseSubscriptionRefuses(t *testing.T) {
	const good, secret = "https://push.example/SECRETSECRET", "SECRETSECRET"
	public := mustDecode(t, testP256dh)
	offCurve := bytes.Clone(public)
	offCurve[64] ^= 1
	compressed := append([]byte{2 + public[64]&1}, public[1:33]...)
	identity := make([]byte, 65)
	identity[0] = 4
	hybrid := bytes.Clone(public)
	hybrid[0] = 6 + public[64]&1
	mixed := strings.Replace(testP256dh, "_", "/", 1) + ""
	for name, c := range map[string]struct {
		text []byte
		want string
	}{
		"not JSON":           {[]byte(`SECRETSECRET`), "not JSON"},
		"a string":           {[]byte(`"SECRETSECRET"`), "not JSON"},
		"endpoint a number":  {[]byte(`{"endpoint":12345}`), "endpoint: not a string"},
		"no endpoint":        {[]byte(`{"keys":{}}`), "endpoint: missing"},
		"too long":           {bytes.Repeat([]byte(" "), 17<<10), "at most"},
		"endpoint too long":  {subscriptionText(good+strings.Repeat("x", 4096), testP256dh, testAuth), "at most 4096"},
		"http":               {subscriptionText("http://push.example/SECRETSECRET", testP256dh, testAuth), "https"},
		"ftp":                {subscriptionText("ftp://push.example/SECRETSECRET", testP256dh, testAuth), "https"},
		"relative":           {subscriptionText("/SECRETSECRET", testP256dh, testAuth), "https"},
		"opaque":             {subscriptionText("https:SECRETSECRET", testP256dh, testAuth), "no host"},
		"no host":            {subscriptionText("https:///SECRETSECRET", testP256dh, testAuth), "no host"},
		"only a port":        {subscriptionText("https://:8443/SECRETSECRET", testP256dh, testAuth), "no host"},
		"user name":          {subscriptionText("https://SECRETSECRET@push.example/", testP256dh, testAuth), "user name"},
		"password":           {subscriptionText("https://a:SECRETSECRET@push.example/", testP256dh, testAuth), "user name"},
		"fragment":           {subscriptionText(good+"#x", testP256dh, testAuth), "fragment"},
		"empty fragment":     {subscriptionText(good+"#", testP256dh, testAuth), "fragment"},
		"bad escape":         {subscriptionText(good+"%zz", testP256dh, testAuth), "not a URL"},
		"bad port":           {subscriptionText("https://push.example:99999/SECRETSECRET", testP256dh, testAuth), "port"},
		"port 0":             {subscriptionText("https://push.example:0/SECRETSECRET", testP256dh, testAuth), "port"},
		"space":              {subscriptionText("https://push.example/ SECRETSECRET", testP256dh, testAuth), "space"},
		"newline":            {subscriptionText("https://push.example/\nSECRETSECRET", testP256dh, testAuth), "control"},
		"outside ASCII":      {subscriptionText("https://bücher.example/SECRETSECRET", testP256dh, testAuth), "ASCII"},
		"zone":               {subscriptionText("https://[fe80::1%25eth0]/SECRETSECRET", testP256dh, testAuth), "host"},
		"no p256dh":          {subscriptionText(good, "", testAuth), "keys.p256dh: missing"},
		"p256dh short":       {subscriptionText(good, testAuth, testAuth), "keys.p256dh: 16 bytes, want 65"},
		"p256dh huge":        {subscriptionText(good, strings.Repeat("A", 4000), testAuth), "far too long"},
		"p256dh not base64":  {subscriptionText(good, strings.Repeat("?", 87), testAuth), "keys.p256dh: not base64"},
		"p256dh mixed":       {subscriptionText(good, mixed, testAuth), "keys.p256dh: not base64"},
		"p256dh off curve":   {subscriptionText(good, encodeBase64(offCurve), testAuth), "not a point"},
		"p256dh compressed":  {subscriptionText(good, encodeBase64(compressed), testAuth), "33 bytes, want 65"},
		"p256dh identity":    {subscriptionText(good, encodeBase64(identity), testAuth), "not a point"},
		"p256dh hybrid":      {subscriptionText(good, encodeBase64(hybrid), testAuth), "uncompressed"},
		"no auth":            {subscriptionText(good, testP256dh, ""), "keys.auth: missing"},
		"auth long":          {subscriptionText(good, testP256dh, testAuth+"AAAA"), "keys.auth: 19 bytes, want 16"},
		"auth padded inside": {subscriptionText(good, testP256dh, testAuth[:10]+"="+testAuth[10:]), "keys.auth: not base64"},
		"nested twice":       {[]byte(`{"subscription":{"subscription":` + string(subscriptionText(good, testP256dh, testAuth)) + `}}`), "endpoint: missing"},
	} {
		sub, err := ParseSubscription(c.text)
		switch {
		case err == nil || !sub.IsZero():
			t.Errorf("%s: accepted", name)
		case !strings.HasPrefix(err.Error(), "webpush: subscription: ") || !strings.Contains(err.Error(), c.want):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		case strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), testAuth) || strings.Contains(err.Error(), testP256dh[:20]):
			t.Errorf("%s: the error tells a secret: %v", name, err)
		}
	}
}

func TestSubscriptionJSONRoundTrip(t *testing.T) {
	keys := newKeys(t)
	sub := subscriptionAt(t, "https://push.example/x", WithServerKey(keys.PublicKey()))
	text, err := json.Marshal(map[string]any{"of": sub.JSON(), "none": Subscription{}.JSON()})
	if err != nil {
		t.Fatal(err)
	}
	var reread map[string]Subscription
	if err := json.Unmarshal(text, &reread); err != nil {
		t.Fatal(err)
	}
	if got := reread["of"]; got.Endpoint() != sub.Endpoint() || string(got.JSON()) != string(sub.JSON()) || got.ServerKey() != keys.PublicKey() || !reread["none"].IsZero() {
		t.Errorf("came back as %s", text)
	}
	if _, err := NewSubscription("https://push.example/x", testP256dh, testAuth, WithServerKey(testAuth)); err == nil {
		t.Error("a server key of 16 bytes was accepted")
	}
	var zero Subscription
	if zero.Endpoint()+zero.Origin()+zero.Fingerprint()+zero.ServerKey() != "" {
		t.Error("the zero value has content")
	}
}

func TestKnownPushService(t *testing.T) {
	for origin, want := range map[string]bool{
		"https://fcm.googleapis.com": true, "https://updates.push.services.mozilla.com": true,
		"https://jmt17.google.com": true, "https://jmt17.google.com.example": false, "https://web.push.apple.com": true, "https://wns2-am3p.notify.windows.com": true,
		"https://fcm.googleapis.com:8443": false, "http://fcm.googleapis.com": false, "https://example.com": false,
		"https://fcm.googleapis.com.example.com": false, "https://evilpush.apple.com": false, "https://10.0.0.1": false, "": false,
	} {
		if got := KnownPushService(origin); got != want {
			t.Errorf("%q: %v", origin, got)
		}
	}
}

func FuzzParseSubscription(f *testing.F) {
	f.Add(subscriptionText("https://push.example/x", testP256dh, testAuth))
	f.Add(subscriptionText("https://[::1]:443/x?y", testP256dh+"=", testAuth+"=="))
	f.Add([]byte(`{"endpoint":"https://a:b@c","keys":null}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, text []byte) {
		sub, err := ParseSubscription(text)
		if err != nil {
			if !sub.IsZero() {
				t.Error("an error and a subscription")
			}
			return
		}
		if !strings.HasPrefix(sub.Origin(), "https://") || strings.ToLower(sub.Origin()) != sub.Origin() || strings.HasSuffix(sub.Origin(), ":443") {
			t.Errorf("origin %q", sub.Origin())
		}
		stored := sub.JSON()
		again, err := ParseSubscription(stored)
		if err != nil || string(again.JSON()) != string(stored) || again.requestURL() != parsedURL(t, sub) || again.Endpoint() != sub.Endpoint() || again.Origin() != sub.Origin() {
			t.Errorf("%s came back as %v, %v", stored, again, err)
		}
	})
}
