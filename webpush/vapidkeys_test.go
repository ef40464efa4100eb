package webpush

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"strings"
	"sync"
	"testing"
	"time"

	"postage/webpush/receiver"
)

func TestVAPIDKeyFormats(t *testing.T) {
	keys, err := GenerateVAPIDKeys()
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := keys.PrivatePEM()
	if err != nil {
		t.Fatal(err)
	}
	sec1DER, err := x509.MarshalECPrivateKey(keys.private)
	if err != nil {
		t.Fatal(err)
	}
	sec1, spki := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: sec1DER}), spkiOf(t, keys)
	parameters := "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"
	private, public := mustDecode(t, keys.PrivateKey()), mustDecode(t, keys.PublicKey())
	for name, parse := range map[string]func() (*VAPIDKeys, error){
		"raw":         func() (*VAPIDKeys, error) { return ParseVAPIDKeys(keys.PrivateKey(), keys.PublicKey()) },
		"raw, no pub": func() (*VAPIDKeys, error) { return ParseVAPIDKeys(keys.PrivateKey(), "") },
		"raw, standard": func() (*VAPIDKeys, error) {
			return ParseVAPIDKeys(base64.StdEncoding.EncodeToString(private), base64.StdEncoding.EncodeToString(public))
		},
		"PKCS #8":   func() (*VAPIDKeys, error) { return ParseVAPIDFile(pkcs8) },
		"SEC 1":     func() (*VAPIDKeys, error) { return ParseVAPIDFile([]byte(parameters + string(sec1))) },
		"with SPKI": func() (*VAPIDKeys, error) { return ParseVAPIDFile(append(spki, pkcs8...)) },
		"ecdsa":     func() (*VAPIDKeys, error) { return NewVAPIDKeys(keys.private) },
	} {
		got, err := parse()
		if err != nil || got.PrivateKey() != keys.PrivateKey() || got.PublicKey() != keys.PublicKey() {
			t.Errorf("%s: %v, %v", name, got, err)
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
	keys, err := GenerateVAPIDKeys()
	if err != nil {
		t.Fatal(err)
	}
	other, err := GenerateVAPIDKeys()
	if err != nil {
		t.Fatal(err)
	}
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
	pkcs8, err := keys.PrivatePEM()
	if err != nil {
		t.Fatal(err)
	}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"empty": nil, "text": []byte("hello"), "public only": spki, "another's SPKI": append(spki, pkcs8...),
		"two private": append(pkcs8, pkcs8...), "P-384": pemOf(t, p384), "RSA": pemOf(t, rsaKey),
		"trailing text": append(pkcs8, "garbage"...), "certificate": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte{1}}),
		"broken PKCS #8": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte{1}}),
		"broken SEC 1":   pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: []byte{1}}),
		"broken SPKI":    append(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: []byte{1}}), pkcs8...),
	} {
		if _, err := ParseVAPIDFile(data); err == nil || !strings.HasPrefix(err.Error(), "webpush: VAPID key: PEM: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	mismatched := *keys.private
	mismatched.PublicKey = other.private.PublicKey
	for name, key := range map[string]*ecdsa.PrivateKey{"nil": nil, "P-384": p384, "mismatched": &mismatched} {
		if _, err := NewVAPIDKeys(key); err == nil {
			t.Errorf("%s: accepted", name)
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
	if _, ok := ring.Lookup(a.PublicKey()); ok || len(ring.Keys()) != 2 {
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
