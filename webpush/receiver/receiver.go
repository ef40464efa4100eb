package receiver

import (
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

const (
	publicKeyBytes  = 65
	authSecretBytes = 16
)

// A Receiver holds a subscription's secrets: the user agent's ECDH key pair and the authentication
// secret (RFC 8291 sections 3.1 and 3.2). It is safe for concurrent use.
type Receiver struct {
	private *ecdh.PrivateKey
	auth    []byte
}

// Generate makes the secrets of a new subscription.
func Generate() (*Receiver, error) {
	private, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("receiver: generate: %w", err)
	}
	auth := make([]byte, authSecretBytes)
	rand.Read(auth) // never fails
	return &Receiver{private: private, auth: auth}, nil
}

// New takes the secrets of an existing subscription: the private key as its 32
// byte scalar, and the 16 bytes of the authentication secret.
func New(privateKey, auth []byte) (*Receiver, error) {
	private, err := ecdh.P256().NewPrivateKey(privateKey)
	if err != nil {
		return nil, errors.New("receiver: not a P-256 private key of 32 bytes")
	}
	if len(auth) != authSecretBytes {
		return nil, fmt.Errorf("receiver: authentication secret of %d bytes, want %d", len(auth), authSecretBytes)
	}
	return &Receiver{private: private, auth: slices.Clone(auth)}, nil
}

// PrivateKey is the 32 byte scalar.
func (r *Receiver) PrivateKey() []byte { return r.private.Bytes() }

// PublicKey is the 65 byte uncompressed point: keys.p256dh.
func (r *Receiver) PublicKey() []byte { return r.private.PublicKey().Bytes() }

// Auth is the authentication secret: keys.auth.
func (r *Receiver) Auth() []byte { return slices.Clone(r.auth) }

// SubscriptionJSON is what PushSubscription.toJSON() would give for this receiver at that endpoint.
func (r *Receiver) SubscriptionJSON(endpoint string) ([]byte, error) {
	encode := base64.RawURLEncoding.EncodeToString
	return json.Marshal(map[string]any{
		"endpoint":       endpoint,
		"expirationTime": nil,
		"keys":           map[string]string{"p256dh": encode(r.PublicKey()), "auth": encode(r.auth)},
	})
}

// Open decrypts the body of a push request. Besides what RFC 8188 asks, it
// checks what RFC 8291 section 4 does: the key id is a P-256 point, there is
// exactly one record, and the record size is above what the record takes.
func (r *Receiver) Open(body []byte) ([]byte, error) {
	h, rest, err := readHeader(body)
	if err != nil {
		return nil, err
	}
	if len(h.keyID) != publicKeyBytes {
		return nil, fmt.Errorf("receiver: key id of %d bytes, want a P-256 point of %d", len(h.keyID), publicKeyBytes)
	}
	if uint64(len(rest)) >= uint64(h.recordSize) {
		return nil, fmt.Errorf("receiver: record size %d is not above the %d bytes of the one record (RFC 8291 section 4)", h.recordSize, len(rest))
	}
	sender, err := ecdh.P256().NewPublicKey(h.keyID)
	if err != nil {
		return nil, errors.New("receiver: the sender's key is not a point on P-256")
	}
	ikm, err := r.inputKey(sender)
	if err != nil {
		return nil, err
	}
	return openRecord(h, rest, ikm)
}

// inputKey is the input keying material of RFC 8291 section 3.3.
func (r *Receiver) inputKey(sender *ecdh.PublicKey) ([]byte, error) {
	secret, err := r.private.ECDH(sender)
	if err != nil {
		return nil, errors.New("receiver: ECDH failed")
	}
	info := "WebPush: info\x00" + string(r.PublicKey()) + string(sender.Bytes())
	return hkdf.Key(sha256.New, secret, r.auth, info, 32)
}
