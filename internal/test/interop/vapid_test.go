package interop

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	webpushgo "github.com/SherClockHolmes/webpush-go"
	"github.com/golang-jwt/jwt/v5"

	"postage/webpush"
	"postage/webpush/receiver"
)

// TestVerifyVAPID checks headers whose tokens golang-jwt made.
func TestVerifyVAPID(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	const origin = "https://push.example"
	sign := func(claims jwt.MapClaims, by *ecdsa.PrivateKey) string {
		text, err := jwt.NewWithClaims(jwt.SigningMethodES256, claims).SignedString(by)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	claims := func(aud any, after time.Duration) jwt.MapClaims {
		return jwt.MapClaims{"aud": aud, "exp": now.Add(after).Unix(), "sub": "mailto:a@b.example"}
	}
	public, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	k := base64.RawURLEncoding.EncodeToString(public)
	good := sign(claims(origin, time.Hour), key)
	none, err := jwt.NewWithClaims(jwt.SigningMethodNone, claims(origin, time.Hour)).SignedString(jwt.UnsafeAllowNoneSignatureType)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, header string
		want         error
	}{
		{"good", "vapid t=" + good + ", k=" + k, nil},
		{"no space, other case, quotes", `VAPID k="` + k + `",t="` + good + `"`, nil},
		{"in 24 hours", "vapid t=" + sign(claims(origin, 24*time.Hour), key) + ", k=" + k, nil},
		{"in 24 hours and a second", "vapid t=" + sign(claims(origin, 24*time.Hour+time.Second), key) + ", k=" + k, receiver.ErrTooLong},
		{"now", "vapid t=" + sign(claims(origin, 0), key) + ", k=" + k, receiver.ErrExpired},
		{"another audience", "vapid t=" + sign(claims("https://push.example:444", time.Hour), key) + ", k=" + k, receiver.ErrAudience},
		{"another key", "vapid t=" + sign(claims(origin, time.Hour), other) + ", k=" + k, receiver.ErrBadVAPID},
		{"no audience", "vapid t=" + sign(jwt.MapClaims{"exp": now.Unix() + 9}, key) + ", k=" + k, receiver.ErrBadVAPID},
		{"no expiry", "vapid t=" + sign(jwt.MapClaims{"aud": origin}, key) + ", k=" + k, receiver.ErrBadVAPID},
		{"huge expiry", "vapid t=" + sign(jwt.MapClaims{"aud": origin, "exp": 1e300}, key) + ", k=" + k, receiver.ErrBadVAPID},
		{"algorithm none", "vapid t=" + none + "AAAA, k=" + k, receiver.ErrBadVAPID},
		{"cut", "vapid t=" + good[:len(good)-3] + ", k=" + k, receiver.ErrBadVAPID},
		{"two parts", "vapid t=" + good[:strings.LastIndex(good, ".")] + ", k=" + k, receiver.ErrBadVAPID},
		{"no k", "vapid t=" + good, receiver.ErrBadVAPID},
		{"bad k", "vapid t=" + good + ", k=AAAA", receiver.ErrBadVAPID},
		{"nothing", "", receiver.ErrNoVAPID},
		{"bearer", "Bearer " + good, receiver.ErrNoVAPID},
	} {
		got, err := receiver.VerifyVAPID(c.header, origin, now)
		if !errors.Is(err, c.want) || (c.want == nil && (got.PublicKey != k || got.Subject != "mailto:a@b.example")) {
			t.Errorf("%s: %+v, %v, want %v", c.name, got, err, c.want)
		}
	}
}

// TestTokenByAnotherLibrary has golang-jwt verify our token, and the receiver too.
func TestTokenByAnotherLibrary(t *testing.T) {
	keys, err := webpush.GenerateVAPIDKeys()
	if err != nil {
		t.Fatal(err)
	}
	ring, err := webpush.NewKeyRing(keys)
	if err != nil {
		t.Fatal(err)
	}
	r, err := receiver.Generate()
	if err != nil {
		t.Fatal(err)
	}
	text, err := r.SubscriptionJSON("https://Push.Example:443/a")
	if err != nil {
		t.Fatal(err)
	}
	sub, err := webpush.ParseSubscription(text)
	if err != nil {
		t.Fatal(err)
	}
	subjects := []string{"mailto:ops@example.com", "https://example.com/contact?a=1&b=\"2\"", "mailto:o'brien+ü@example.com"}
	for i := range 300 { // so that an r or an s is short
		subject := subjects[i%len(subjects)]
		client, err := webpush.NewClient(webpush.Config{Keys: ring, Subject: subject})
		if err != nil {
			t.Fatal(err)
		}
		before := time.Now().Truncate(time.Second)
		_, fields, err := client.AppendMessage(nil, nil, sub, webpush.Options{})
		if err != nil {
			t.Fatal(err)
		}
		header := fields.Authorization
		token, ok := strings.CutPrefix(header, "vapid t=")
		token, key, _ := strings.Cut(token, ", k=")
		if !ok || key != keys.PublicKey() {
			t.Fatalf("header %q", header)
		}
		claims := jwt.MapClaims{}
		parsed, err := jwt.ParseWithClaims(token, claims, func(*jwt.Token) (any, error) {
			point, err := base64.RawURLEncoding.DecodeString(key)
			if err != nil {
				return nil, err
			}
			return ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
		}, jwt.WithValidMethods([]string{"ES256"}), jwt.WithAudience("https://push.example"), jwt.WithSubject(subject),
			jwt.WithExpirationRequired(), jwt.WithStrictDecoding())
		if err != nil || !parsed.Valid || parsed.Header["typ"] != "JWT" {
			t.Errorf("golang-jwt: %v", err)
		}
		expires, err := claims.GetExpirationTime()
		if err != nil || expires.Before(before.Add(12*time.Hour)) || expires.After(time.Now().Add(12*time.Hour)) {
			t.Errorf("exp %v, %v", expires, err)
		}
		got, err := receiver.VerifyVAPID(header, "https://push.example", time.Now())
		if err != nil || got.Subject != subject || got.PublicKey != key {
			t.Errorf("receiver: %+v, %v", got, err)
		}
	}
}

// Keys that webpush-go made are ours, too.
func TestKeysOfAnotherLibrary(t *testing.T) {
	private, public, err := webpushgo.GenerateVAPIDKeys()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := webpush.ParseVAPIDKeys(private, public); err != nil {
		t.Error(err)
	}
}
