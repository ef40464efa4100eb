package webpush

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
)

// ParseVAPIDFile reads a key pair as tools keep it in files: the first "PRIVATE KEY" (PKCS #8) or
// "EC PRIVATE KEY" (SEC 1) of PEM; either as DER, or that in base64; a JWK (RFC 7517); what
// `web-push generate-vapid-keys --json` writes; or the private key as base64 of its 32 bytes. Errors
// do not quote the data.
func ParseVAPIDFile(data []byte) (*VAPIDKeys, error) {
	var keys *VAPIDKeys
	var err error
	form, text := "PEM", bytes.TrimSpace(data)
	switch der, err64 := decodeBase64(string(bytes.Join(bytes.Fields(data), nil))); { // base64 wraps lines
	case bytes.Contains(data, []byte("-----BEGIN")):
		keys, err = parseVAPIDPEM(data)
	case bytes.HasPrefix(text, []byte("{")):
		form = "JWK"
		keys, err = parseVAPIDJWK(text)
	case err64 == nil && len(der) >= 30 && len(der) <= 32:
		form = "raw"
		keys, err = parseRawKeys(string(text), "")
	case bytes.HasPrefix(data, []byte{0x30}): // an ASN.1 sequence
		form = "DER"
		keys, err = parseVAPIDDER(data)
	case err64 == nil && len(der) > 0:
		form = "base64"
		keys, err = parseVAPIDDER(der)
	default:
		keys, err = parseVAPIDPEM(data)
	}
	if err != nil {
		return nil, fmt.Errorf("webpush: VAPID key: %s: %w", form, err)
	}
	return keys, nil
}

func parseVAPIDJWK(text []byte) (*VAPIDKeys, error) {
	var jwk struct{ Kty, Crv, X, Y, D, PublicKey, PrivateKey string }
	if json.Unmarshal(text, &jwk) != nil {
		return nil, errors.New("not JSON")
	}
	if jwk.PrivateKey != "" {
		return parseRawKeys(jwk.PrivateKey, jwk.PublicKey)
	}
	if jwk.Kty != "EC" || jwk.Crv != "P-256" || jwk.D == "" {
		return nil, errors.New("not a private key on P-256 (RFC 7518 section 6.2)")
	}
	x, errX := decodeKey("x", jwk.X, 32)
	y, errY := decodeKey("y", jwk.Y, 32)
	if err := errors.Join(errX, errY); err != nil {
		return nil, err
	}
	return parseRawKeys(jwk.D, encodeBase64(slices.Concat([]byte{4}, x, y)))
}

// parseVAPIDDER takes PKCS #8 or SEC 1, however it is labelled.
func parseVAPIDDER(der []byte) (*VAPIDKeys, error) {
	if private, err := x509.ParseECPrivateKey(der); err == nil {
		return newVAPIDKeys(private)
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	private, ok := key.(*ecdsa.PrivateKey)
	if err != nil || !ok {
		return nil, errors.New("neither PKCS #8 nor SEC 1 of an ECDSA key")
	}
	return newVAPIDKeys(private)
}

// parseVAPIDPEM takes the first private key.
func parseVAPIDPEM(data []byte) (*VAPIDKeys, error) {
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "PRIVATE KEY" || block.Type == "EC PRIVATE KEY" {
			return parseVAPIDDER(block.Bytes)
		}
	}
	return nil, errors.New("no private key")
}

// PrivatePEM is the private key as PKCS #8 in PEM ("PRIVATE KEY"), which holds
// the public key too. It is the secret itself.
func (k *VAPIDKeys) PrivatePEM() ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(k.private)
	if err != nil {
		return nil, fmt.Errorf("webpush: VAPID key: write PKCS #8: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}
