package webpush

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"postage/webpush/receiver"
)

// TestVAPIDKeyFormats reads key pairs as tools keep them, also one whose private key begins with a
// zero, which some leave out.
func TestVAPIDKeyFormats(t *testing.T) {
	short := newKeys(t)
	for mustDecode(t, short.PrivateKey())[0] != 0 {
		short = newKeys(t)
	}
	for _, keys := range []*VAPIDKeys{newKeys(t), short} {
		pkcs8, err := x509.MarshalPKCS8PrivateKey(keys.private)
		if err != nil {
			t.Fatal(err)
		}
		sec1, err := x509.MarshalECPrivateKey(keys.private)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := keys.PrivatePEM()
		if err != nil {
			t.Fatal(err)
		}
		raw, public := bytes.TrimLeft(mustDecode(t, keys.PrivateKey()), "\x00"), mustDecode(t, keys.PublicKey())
		private, x, y := encodeBase64(raw), encodeBase64(public[1:33]), encodeBase64(public[33:])
		jwk := fmt.Sprintf(`{"kty":"EC","crv":"P-256","x":%q,"y":%q,"d":%q,"ext":true,"key_ops":["sign"]}`, x, y, keys.PrivateKey())
		standard := base64.StdEncoding.EncodeToString
		text := standard(sec1)
		lines := "\n" + text[:64] + "\n" + text[64:128] + "\n" + text[128:] + "\n"
		for name, file := range map[string]string{
			"PEM": string(whole), "PEM beside its public key": string(spkiOf(t, keys)) + string(whole),
			"PEM of SEC 1":              "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n-----BEGIN EC PRIVATE KEY-----" + lines + "-----END EC PRIVATE KEY-----\n",
			"SEC 1 labelled as PKCS #8": "-----BEGIN PRIVATE KEY-----" + lines + "-----END PRIVATE KEY-----\n", "SEC 1 in base64, in lines": lines, // both as py-vapid's tests have them
			"PKCS #8": string(pkcs8), "SEC 1": string(sec1), "JWK": jwk, "JWK with spaces": "\n " + jwk + "\n", "SEC 1 in base64": text,
			"PKCS #8 in base64": standard(pkcs8), "PKCS #8 in base64url": encodeBase64(pkcs8) + "\n",
			"web-push --json": fmt.Sprintf(`{"publicKey":%q,"privateKey":%q}`+"\n", keys.PublicKey(), private),
			"raw":             private, "raw, padded": base64.URLEncoding.EncodeToString(raw), "raw, a line": private + "\r\n",
		} {
			if got, err := ParseVAPIDFile([]byte(file)); err != nil || got.PrivateKey() != keys.PrivateKey() || got.PublicKey() != keys.PublicKey() {
				t.Errorf("%d bytes, %s: %v", len(raw), name, err)
			}
		}
		for _, pair := range [][2]string{{private, keys.PublicKey()}, {private, ""}, {standard(raw), standard(public)}, {private + "\n", keys.PublicKey() + "\n"}} {
			if got, err := ParseVAPIDKeys(pair[0], pair[1]); err != nil || got.PrivateKey() != keys.PrivateKey() {
				t.Errorf("%d bytes, %q: %v", len(raw), pair, err)
			}
		}
		for name, file := range map[string]string{
			"another's public key": strings.Replace(jwk, x, y, 1), "no private key": strings.Replace(jwk, `"d"`, `"e"`, 1), "another curve": strings.Replace(jwk, "P-256", "P-384", 1),
			"RSA": strings.Replace(jwk, `"EC"`, `"RSA"`, 1), "half": jwk[:50], "nothing": "", "DER cut off": string(pkcs8[:40]),
			"keys that do not belong together": `{"publicKey":"` + newKeys(t).PublicKey() + `","privateKey":"` + private + `"}`,
		} {
			if _, err := ParseVAPIDFile([]byte(file)); err == nil || strings.Contains(err.Error(), private) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestVAPIDKeysAreShared reads the private key while others sign with it.
func TestVAPIDKeysAreShared(t *testing.T) {
	keys := newKeys(t)
	want := keys.PrivateKey()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				header, err := signToken(keys, "https://push.example", 1_800_000_000, []byte(`"mailto:a@b.example"`))
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := receiver.VerifyVAPID(header.header, "https://push.example", time.Unix(1_799_999_999, 0)); err != nil {
					t.Error(err)
					return
				}
				if keys.PrivateKey() != want {
					t.Error("the private key changed")
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestVAPIDKeysRefuse(t *testing.T) {
	keys, other := newKeys(t), newKeys(t)
	order := encodeBase64(elliptic.P256().Params().N.Bytes())
	zero := encodeBase64(make([]byte, 32))
	for name, c := range map[string]struct{ private, public, want string }{
		"another's public key": {keys.PrivateKey(), other.PublicKey(), "does not belong"},
		"public as private":    {keys.PublicKey(), keys.PublicKey(), "65 bytes, want 32"},
		"private as public":    {keys.PrivateKey(), keys.PrivateKey(), "32 bytes, want 65"},
		"none":                 {"", keys.PublicKey(), "private key: missing"},
		"zero":                 {zero, "", "order of P-256"},
		"order":                {order, "", "order of P-256"},
		"not base64":           {strings.Repeat("!", 43), "", "not base64"},
	} {
		_, err := ParseVAPIDKeys(c.private, c.public)
		if err == nil || !strings.Contains(err.Error(), c.want) || (c.private != "" && strings.Contains(err.Error(), c.private)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	spki := spkiOf(t, other)
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"empty": nil, "text": []byte("hello"), "public only": spki,
		"P-384": pemOf(t, p384), "RSA": pemOf(t, rsaKey),
		"certificate":    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte{1}}),
		"broken PKCS #8": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte{1}}),
		"broken SEC 1":   pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: []byte{1}}),
	} {
		if _, err := ParseVAPIDFile(data); err == nil || !strings.HasPrefix(err.Error(), "webpush: VAPID key: PEM: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func pemOf(t *testing.T, key any) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func spkiOf(t *testing.T, keys *VAPIDKeys) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(&keys.private.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

func TestKeyRing(t *testing.T) {
	a, b, c := newKeys(t), newKeys(t), newKeys(t)
	ring, err := NewKeyRing(a, b)
	if err != nil {
		t.Fatal(err)
	}
	if err := ring.Rotate(c); err != nil || ring.Current() != c || len(ring.Keys()) != 3 {
		t.Errorf("after rotation: %v, %v", ring.Keys(), err)
	}
	if err := ring.Rotate(b); err != nil || ring.Current() != b || len(ring.Keys()) != 3 {
		t.Errorf("after rotation to an old key: %v, %v", ring.Keys(), err)
	}
	if err := ring.Retire(b.PublicKey()); err == nil {
		t.Error("the current key was retired")
	}
	if err := ring.Retire(a.PublicKey()); err != nil {
		t.Error(err)
	}
	if len(ring.Keys()) != 2 || slices.Contains(ring.Keys(), a) {
		t.Errorf("a retired key is there: %v", ring.Keys())
	}
	if ring.Retire(a.PublicKey()) == nil || ring.Rotate(nil) == nil {
		t.Error("nonsense accepted")
	}
	if _, err := NewKeyRing(nil); err == nil {
		t.Error("a ring of nothing")
	}
}

func newKeys(t testing.TB) *VAPIDKeys {
	t.Helper()
	keys, err := GenerateVAPIDKeys()
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func FuzzParseVAPIDKeys(f *testing.F) {
	keys := newKeys(f)
	pkcs8, err := keys.PrivatePEM()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(keys.PrivateKey(), keys.PublicKey(), pkcs8)
	f.Add("", "", []byte("-----BEGIN EC PRIVATE KEY-----\n-----END EC PRIVATE KEY-----"))
	f.Fuzz(func(t *testing.T, private, public string, text []byte) {
		if got, err := ParseVAPIDKeys(private, public); err == nil {
			if again, err := ParseVAPIDKeys(got.PrivateKey(), got.PublicKey()); err != nil || again.PublicKey() != got.PublicKey() {
				t.Errorf("a key did not come back: %v", err)
			}
		}
		if got, err := ParseVAPIDFile(text); err == nil {
			written, err := got.PrivatePEM()
			if err != nil {
				t.Fatal(err)
			}
			if again, err := ParseVAPIDFile(written); err != nil || again.PublicKey() != got.PublicKey() {
				t.Errorf("a key did not come back: %v", err)
			}
		}
	})
}
