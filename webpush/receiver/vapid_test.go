package receiver_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

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

func FuzzVerifyVAPID(f *testing.F) {
	f.Add("vapid t=eyJhbGciOiJFUzI1NiJ9.e30.AAAA, k=BAAA")
	f.Add("vapid")
	f.Fuzz(func(t *testing.T, header string) {
		if _, err := receiver.VerifyVAPID(header, "https://push.example", time.Unix(0, 0)); err == nil {
			t.Error("verified what nobody signed")
		}
	})
}
