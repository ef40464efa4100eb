package webpush

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
)

// VAPIDKeys is an application server's signing key pair (RFC 8292 section 3.2):
// the private key signs tokens, the public key is what the browser is given as
// applicationServerKey and what the push service checks tokens with. Losing the
// private key means that every browser has to subscribe again.
//
// Formatting and logging it shows the public key only.
type VAPIDKeys struct {
	private *ecdsa.PrivateKey
	public  string // unpadded base64url
}

// GenerateVAPIDKeys makes a new key pair. Store it with
// [VAPIDKeys.PrivateKey] or [VAPIDKeys.PrivatePEM].
func GenerateVAPIDKeys() (*VAPIDKeys, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("webpush: generate VAPID keys: %w", err)
	}
	return newVAPIDKeys(private)
}

// newVAPIDKeys takes a key that crypto/x509 or crypto/ecdsa has checked, of any curve.
func newVAPIDKeys(private *ecdsa.PrivateKey) (*VAPIDKeys, error) {
	public, err := private.PublicKey.Bytes()
	if err != nil || private.Curve != elliptic.P256() {
		return nil, errors.New("not a private key on P-256 (RFC 8292 section 2)")
	}
	return &VAPIDKeys{private: private, public: encodeBase64(public)}, nil
}

// ParseVAPIDKeys reads the raw form that most Web Push tools write: the private key as 32 bytes and
// the public key as 65 bytes, each in any base64 alphabet. The public key may be "", in which case
// it is computed; if it is given it must belong to the private key. Errors do not quote the keys.
func ParseVAPIDKeys(private, public string) (*VAPIDKeys, error) {
	keys, err := parseRawKeys(private, public)
	if err != nil {
		return nil, fmt.Errorf("webpush: VAPID key: %w", err)
	}
	return keys, nil
}

func parseRawKeys(private, public string) (*VAPIDKeys, error) {
	if short, err := decodeBase64(private); err == nil && (len(short) == 30 || len(short) == 31) {
		private = encodeBase64(append(make([]byte, 32-len(short)), short...)) // some tools leave out leading zeros
	}
	scalar, err := decodeKey("private key", private, 32)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), scalar)
	if err != nil {
		return nil, errors.New("private key: not between 1 and the order of P-256")
	}
	keys, err := newVAPIDKeys(key)
	if err != nil || public == "" {
		return keys, err
	}
	point, err := decodeKey("public key", public, publicKeyBytes)
	if err != nil {
		return nil, err
	}
	if encodeBase64(point) != keys.public {
		return nil, errors.New("the public key does not belong to the private key")
	}
	return keys, nil
}

// PublicKey is the public key as unpadded base64url: the applicationServerKey
// for PushManager.subscribe() and the k parameter of the Authorization header.
func (k *VAPIDKeys) PublicKey() string { return k.public }

// PrivateKey is the private key as unpadded base64url of its 32 bytes, the form
// that [ParseVAPIDKeys] reads. It is the secret itself.
func (k *VAPIDKeys) PrivateKey() string {
	raw, err := k.private.Bytes() // must not be overwritten: crypto/ecdsa may keep this slice
	if err != nil {
		return "" // impossible: the key was checked when it was made
	}
	return encodeBase64(raw)
}

// String shows the public key only.
func (k *VAPIDKeys) String() string {
	if k == nil {
		return "webpush.VAPIDKeys(none)"
	}
	return "webpush.VAPIDKeys(public " + k.public + ")"
}

// Format prints the same as String, for every verb.
func (k *VAPIDKeys) Format(f fmt.State, _ rune) { writeRedacted(f, k.String()) }

// LogValue is what String gives.
func (k *VAPIDKeys) LogValue() slog.Value { return slog.StringValue(k.String()) }
