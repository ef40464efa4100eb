package receiver

import (
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

// OpenContent decrypts the aes128gcm content coding in general (RFC 8188): any
// number of records, and input keying material found by key id.
func OpenContent(body []byte, lookup func(keyID []byte) (ikm []byte, err error)) ([]byte, error) {
	h, rest, err := readHeader(body)
	if err != nil {
		return nil, err
	}
	ikm, err := lookup(h.keyID)
	if err != nil {
		return nil, err
	}
	return openRecords(h, rest, ikm)
}

// openRecords decrypts the records after the header.
func openRecords(h header, rest, ikm []byte) ([]byte, error) {
	key, err := hkdf.Key(sha256.New, ikm, h.salt, "Content-Encoding: aes128gcm\x00", 16)
	if err != nil {
		return nil, fmt.Errorf("receiver: derive key: %w", err)
	}
	nonce, err := hkdf.Key(sha256.New, ikm, h.salt, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, fmt.Errorf("receiver: derive nonce: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("receiver: AES: %w", err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("receiver: AES-GCM: %w", err)
	}
	if len(rest) == 0 {
		return nil, errors.New("receiver: no record")
	}
	message := []byte{}
	for sequence := uint64(0); len(rest) > 0; sequence++ {
		record := rest[:min(uint64(len(rest)), uint64(h.recordSize))]
		rest = rest[len(record):]
		plaintext, err := gcm.Open(nil, recordNonce(nonce, sequence), record, nil)
		if err != nil {
			return nil, fmt.Errorf("receiver: record %d is not authentic", sequence)
		}
		data, err := unpad(plaintext, len(rest) == 0)
		if err != nil {
			return nil, fmt.Errorf("receiver: record %d: %w", sequence, err)
		}
		message = append(message, data...)
	}
	return message, nil
}

// recordNonce is the nonce exclusive-or the record's number (RFC 8188
// section 2.3).
func recordNonce(nonce []byte, sequence uint64) []byte {
	out := make([]byte, len(nonce))
	binary.BigEndian.PutUint64(out[4:], sequence)
	for i := range out {
		out[i] ^= nonce[i]
	}
	return out
}

// unpad removes padding and the delimiter: 2 in the last record, 1 in others.
func unpad(plaintext []byte, last bool) ([]byte, error) {
	end := len(plaintext)
	for end > 0 && plaintext[end-1] == 0 {
		end--
	}
	if end == 0 {
		return nil, errors.New("no delimiter")
	}
	want := byte(1)
	if last {
		want = 2
	}
	if plaintext[end-1] != want {
		return nil, fmt.Errorf("delimiter %d, want %d", plaintext[end-1], want)
	}
	return plaintext[:end-1], nil
}
