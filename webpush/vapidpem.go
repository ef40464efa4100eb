package webpush

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// ParseVAPIDPEM reads a key pair from PEM: one private key as PKCS #8
// ("PRIVATE KEY") or SEC 1 ("EC PRIVATE KEY", as openssl ecparam writes it),
// and optionally the public key as SPKI ("PUBLIC KEY"), which must belong to
// it. "EC PARAMETERS" blocks are skipped. Errors do not quote the data.
func ParseVAPIDPEM(data []byte) (*VAPIDKeys, error) {
	keys, err := parseVAPIDPEM(data)
	if err != nil {
		return nil, fmt.Errorf("webpush: VAPID key: PEM: %w", err)
	}
	return keys, nil
}

func parseVAPIDPEM(data []byte) (*VAPIDKeys, error) {
	var keys *VAPIDKeys
	var public []byte
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			break
		}
		switch block.Type {
		case "EC PARAMETERS":
		case "PRIVATE KEY", "EC PRIVATE KEY":
			if keys != nil {
				return nil, errors.New("more than one private key")
			}
			private, err := parsePrivateDER(block)
			if err != nil {
				return nil, err
			}
			if keys, err = NewVAPIDKeys(private); err != nil {
				return nil, err
			}
		case "PUBLIC KEY":
			var err error
			if public, err = parsePublicDER(block.Bytes); err != nil {
				return nil, err
			}
		default:
			return nil, errors.New("a block that is neither PRIVATE KEY, EC PRIVATE KEY nor PUBLIC KEY")
		}
	}
	switch {
	case len(bytes.TrimSpace(data)) != 0:
		return nil, errors.New("text that is not PEM")
	case keys == nil:
		return nil, errors.New("no private key")
	case public != nil && !keys.hasPublic(public):
		return nil, errors.New("the public key does not belong to the private key")
	}
	return keys, nil
}

func parsePrivateDER(block *pem.Block) (*ecdsa.PrivateKey, error) {
	if block.Type == "EC PRIVATE KEY" {
		private, err := x509.ParseECPrivateKey(block.Bytes)
		if err != nil {
			return nil, errors.New("EC PRIVATE KEY: not SEC 1")
		}
		return private, nil
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("PRIVATE KEY: not PKCS #8")
	}
	private, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return nil, errors.New("PRIVATE KEY: not an ECDSA key")
	}
	return private, nil
}

func parsePublicDER(der []byte) ([]byte, error) {
	key, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, errors.New("PUBLIC KEY: not SPKI")
	}
	public, ok := key.(*ecdsa.PublicKey)
	if !ok {
		return nil, errors.New("PUBLIC KEY: not an ECDSA key")
	}
	return public.Bytes()
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

// PrivateSEC1PEM is the private key as SEC 1 in PEM ("EC PRIVATE KEY"), for
// tools that do not read PKCS #8. It is the secret itself.
func (k *VAPIDKeys) PrivateSEC1PEM() ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(k.private)
	if err != nil {
		return nil, fmt.Errorf("webpush: VAPID key: write SEC 1: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

// PublicPEM is the public key as SPKI in PEM ("PUBLIC KEY").
func (k *VAPIDKeys) PublicPEM() ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(&k.private.PublicKey)
	if err != nil {
		return nil, fmt.Errorf("webpush: VAPID key: write SPKI: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), nil
}
