package webpush

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/subtle"
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
	private   *ecdsa.PrivateKey
	publicRaw [publicKeyBytes]byte
	public    string // unpadded base64url
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

// NewVAPIDKeys takes a private key made elsewhere. It must be on P-256 and its
// public half must belong to it.
func NewVAPIDKeys(private *ecdsa.PrivateKey) (*VAPIDKeys, error) {
	if private == nil || private.Curve != elliptic.P256() {
		return nil, errors.New("webpush: VAPID key: not a P-256 private key (RFC 8292 section 2)")
	}
	raw, err := private.Bytes()
	if err != nil {
		return nil, errors.New("webpush: VAPID key: not a valid P-256 private key")
	}
	derived, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), raw)
	if err != nil {
		return nil, errors.New("webpush: VAPID key: not a valid P-256 private key")
	}
	keys, err := newVAPIDKeys(derived)
	if err != nil {
		return nil, err
	}
	given, err := private.PublicKey.Bytes()
	if err != nil || !keys.hasPublic(given) {
		return nil, errors.New("webpush: VAPID key: the public key does not belong to the private key")
	}
	return keys, nil
}

func newVAPIDKeys(private *ecdsa.PrivateKey) (*VAPIDKeys, error) {
	public, err := private.PublicKey.Bytes()
	if err != nil || len(public) != publicKeyBytes {
		return nil, errors.New("webpush: VAPID key: not a P-256 key")
	}
	k := &VAPIDKeys{private: private, public: encodeBase64(public)}
	copy(k.publicRaw[:], public)
	return k, nil
}

// ParseVAPIDKeys reads the raw form that most Web Push tools write: the private key as 32 bytes and
// the public key as 65 bytes, each in any base64 alphabet. The public key may be "", in which case
// it is computed; if it is given it must belong to the private key. Errors do not quote the keys.
func ParseVAPIDKeys(private, public string) (*VAPIDKeys, error) {
	if short, err := decodeBase64(private); err == nil && (len(short) == 30 || len(short) == 31) {
		private = encodeBase64(append(make([]byte, 32-len(short)), short...)) // some tools leave out leading zeros
	}
	scalar, err := decodeKey("private key", private, 32)
	if err != nil {
		return nil, fmt.Errorf("webpush: VAPID key: %w", err)
	}
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), scalar)
	if err != nil {
		return nil, errors.New("webpush: VAPID key: private key: not between 1 and the order of P-256")
	}
	keys, err := newVAPIDKeys(key)
	if err != nil {
		return nil, err
	}
	if public == "" {
		return keys, nil
	}
	point, err := decodeKey("public key", public, publicKeyBytes)
	if err != nil {
		return nil, fmt.Errorf("webpush: VAPID key: %w", err)
	}
	if !keys.hasPublic(point) {
		return nil, errors.New("webpush: VAPID key: the public key does not belong to the private key")
	}
	return keys, nil
}

// hasPublic reports whether public is the pair's public key. The comparison takes constant time,
// because the pair's public key is derived from the secret.
func (k *VAPIDKeys) hasPublic(public []byte) bool {
	return subtle.ConstantTimeCompare(k.publicRaw[:], public) == 1
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
