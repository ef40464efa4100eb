package seal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math/big"
	"net/http"
	"strconv"
	"time"

	"postage/webpush"
)

// reference is RFC 8291 and RFC 8292 with the standard library alone, written for clarity and not
// for speed, like the code of a service that writes its own. It keeps a token for each origin.
func reference() *contender {
	return &contender{
		name: "lib=reference", ownFloor: "floor=composed/mode=strict",
		settings: map[string]string{"as": "request"},
		key:      perMessage, token: perOrigin,
		open: func(w *workload, pad padding) (maker, error) {
			key, err := signingKey(w.keys)
			return maker{make: (&plain{w, pad, key, map[string]string{}}).make}, err
		},
	}
}

func signingKey(keys *webpush.VAPIDKeys) (*ecdsa.PrivateKey, error) {
	scalar, err := base64.RawURLEncoding.DecodeString(keys.PrivateKey())
	if err != nil {
		return nil, err
	}
	return ecdsa.ParseRawPrivateKey(elliptic.P256(), scalar)
}

type plain struct {
	workload *workload
	pad      padding
	key      *ecdsa.PrivateKey
	tokens   map[string]string // by origin
}

func (p *plain) make(i int) (product, error) {
	r := &p.workload.recipients[i]
	body, err := p.encrypt(r)
	if err != nil {
		return product{}, err
	}
	authorization, err := p.authorization(r.sub.Origin())
	if err != nil {
		return product{}, err
	}
	request, err := http.NewRequest(http.MethodPost, r.sub.Endpoint(), bytes.NewReader(body))
	if err != nil {
		return product{}, err
	}
	request.Header.Set("Content-Encoding", "aes128gcm")
	request.Header.Set("Content-Type", "application/octet-stream")
	request.Header.Set("TTL", strconv.Itoa(ttlSeconds))
	request.Header.Set("Authorization", authorization)
	return product{request: request}, nil
}

// encrypt is RFC 8291 section 3.4 and RFC 8188 section 2.
func (p *plain) encrypt(r *recipient) ([]byte, error) {
	browserKey, err := ecdh.P256().NewPublicKey(r.browser.PublicKey())
	if err != nil {
		return nil, err
	}
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	secret, err := key.ECDH(browserKey)
	if err != nil {
		return nil, err
	}
	info := "WebPush: info\x00" + string(browserKey.Bytes()) + string(key.PublicKey().Bytes())
	ikm, err := hkdf.Key(sha256.New, secret, r.browser.Auth(), info, 32)
	if err != nil {
		return nil, err
	}
	salt := make([]byte, 16)
	rand.Read(salt)
	contentKey, err := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: aes128gcm\x00", 16)
	if err != nil {
		return nil, err
	}
	nonce, err := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(contentKey)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	header := binary.BigEndian.AppendUint32(salt, 4096)
	header = append(header, byte(len(key.PublicKey().Bytes())))
	header = append(header, key.PublicKey().Bytes()...)
	plaintext := append(bytes.Clone(p.workload.message), 2)
	if p.pad {
		plaintext = append(plaintext, make([]byte, p.pad.bodyBytes()-len(header)-len(plaintext)-gcm.Overhead())...)
	}
	return gcm.Seal(header, nonce, plaintext, nil), nil
}

// authorization is RFC 8292 sections 2 and 3, with an ES256 token (RFC 7515).
func (p *plain) authorization(origin string) (string, error) {
	if a := p.tokens[origin]; a != "" {
		return a, nil
	}
	claims, err := json.Marshal(map[string]any{"aud": origin, "exp": time.Now().Add(12 * time.Hour).Unix(), "sub": contact})
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"typ":"JWT","alg":"ES256"}`)) + "." + encode(claims)
	digest := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, p.key, digest[:])
	if err != nil {
		return "", err
	}
	p.tokens[origin] = "vapid t=" + signed + "." + encode(append(padded(r), padded(s)...)) + ", k=" + p.workload.keys.PublicKey()
	return p.tokens[origin], nil
}

func padded(x *big.Int) []byte { return x.FillBytes(make([]byte, 32)) }
