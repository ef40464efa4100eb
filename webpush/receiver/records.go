package receiver

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	saltBytes      = 16
	tagBytes       = 16
	minHeaderBytes = saltBytes + 4 + 1
	minRecordSize  = tagBytes + 2 // RFC 8188 section 2: a byte of data and the delimiter
)

// A header is the encryption content-coding header (RFC 8188 section 2.1).
type header struct {
	salt       []byte
	recordSize uint32
	keyID      []byte
}

func readHeader(body []byte) (header, []byte, error) {
	if len(body) < minHeaderBytes {
		return header{}, nil, fmt.Errorf("receiver: body of %d bytes is shorter than a header", len(body))
	}
	h := header{salt: body[:saltBytes], recordSize: binary.BigEndian.Uint32(body[saltBytes:])}
	keyIDBytes := int(body[saltBytes+4])
	rest := body[minHeaderBytes:]
	if len(rest) < keyIDBytes {
		return header{}, nil, fmt.Errorf("receiver: key id of %d bytes, but %d are left", keyIDBytes, len(rest))
	}
	h.keyID, rest = rest[:keyIDBytes], rest[keyIDBytes:]
	if h.recordSize < minRecordSize {
		return header{}, nil, fmt.Errorf("receiver: record size %d, at least %d (RFC 8188 section 2.1)", h.recordSize, minRecordSize)
	}
	return h, rest, nil
}

// openRecord decrypts the one record after the header. It has the first record's nonce (RFC 8188
// section 2.3).
func openRecord(h header, record, ikm []byte) ([]byte, error) {
	key, errKey := hkdf.Key(sha256.New, ikm, h.salt, "Content-Encoding: aes128gcm\x00", 16)
	nonce, errNonce := hkdf.Key(sha256.New, ikm, h.salt, "Content-Encoding: nonce\x00", 12)
	block, errAES := aes.NewCipher(key)
	if err := errors.Join(errKey, errNonce, errAES); err != nil {
		return nil, fmt.Errorf("receiver: derive keys: %w", err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("receiver: AES-GCM: %w", err)
	}
	plaintext, err := gcm.Open(nil, nonce, record, nil)
	if err != nil {
		return nil, errors.New("receiver: the record is not authentic")
	}
	// Behind the message are the delimiter 2 ("last record") and zeros.
	text := bytes.TrimRight(plaintext, "\x00")
	if len(text) == 0 || text[len(text)-1] != 2 {
		return nil, errors.New("receiver: the record does not end with the delimiter of the last")
	}
	return text[:len(text)-1], nil
}
