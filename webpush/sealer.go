package webpush

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// A sealer encrypts messages (RFC 8291). It is safe for concurrent use. Some modes of [Reuse] own a
// goroutine, which close ends.
type sealer struct {
	reuse  Reuse
	keys   keySource
	closed atomic.Bool

	// For tests; nil otherwise.
	fixSalt func(*[saltBytes]byte)
	onSeal  func(key, nonce []byte)
}

// newSealer fails if the settings of the mode are out of their bounds.
func newSealer(reuse Reuse, now func() time.Time) (*sealer, error) {
	if err := reuse.check(); err != nil {
		return nil, err
	}
	return &sealer{reuse: reuse, keys: newKeySource(reuse, now)}, nil
}

// close ends the sealer's goroutine, if it has one, waits for it, and forgets all keys.
func (s *sealer) close() {
	if s.closed.CompareAndSwap(false, true) {
		s.keys.close()
	}
}

// ErrClosed is the error of a [Client] that has been closed.
var ErrClosed = errors.New("webpush: closed")

// appendEncrypt appends the body of the push request to dst: one record of the aes128gcm content
// coding (RFC 8188, RFC 8291 section 4). With room for it in dst it allocates the two objects of
// the AES-GCM cipher, and whatever the ECDH of the mode allocates. msg is not written to.
func (s *sealer) appendEncrypt(dst, msg []byte, sub Subscription, padding Padding, now time.Time) ([]byte, error) {
	if sub.IsZero() {
		return dst, errNoSubscription
	}
	if s.closed.Load() {
		return dst, ErrClosed
	}
	plaintextBytes, err := padding.plaintextBytes(len(msg))
	if err != nil {
		return dst, err
	}
	schedule := getSchedule()
	defer schedule.release()
	if err := s.keys.agree(schedule, sub, now); err != nil {
		return dst, err
	}
	if _, err := rand.Read(schedule.salt[:]); err != nil {
		return dst, fmt.Errorf("webpush: salt: %w", err)
	}
	if s.fixSalt != nil {
		s.fixSalt(&schedule.salt)
	}
	key, nonce := schedule.deriveKey()
	if s.onSeal != nil {
		s.onSeal(key, nonce)
	}
	return appendRecord(dst, msg, plaintextBytes, key, nonce, schedule)
}

var errNoSubscription = errors.New("webpush: the subscription is the zero value")

// appendRecord appends the header of RFC 8188 section 2.1 and the one record:
// message, delimiter 2 ("last record"), zeros, tag.
func appendRecord(dst, msg []byte, plaintextBytes int, key, nonce []byte, s *schedule) ([]byte, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return dst, fmt.Errorf("webpush: AES: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return dst, fmt.Errorf("webpush: AES-GCM: %w", err)
	}
	start := len(dst)
	body := slices.Grow(dst, headerBytes+plaintextBytes+tagBytes)[:start+headerBytes+plaintextBytes]
	plaintext := body[start+headerBytes:]
	n := copy(plaintext, msg) // first, as msg may lie in dst's spare room
	plaintext[n] = 2
	clear(plaintext[n+1:])

	header := body[start:]
	copy(header, s.salt[:])
	binary.BigEndian.PutUint32(header[saltBytes:], MaxBodyBytes)
	header[saltBytes+4] = publicKeyBytes
	copy(header[saltBytes+5:headerBytes], s.public[:])

	return aead.Seal(body[:start+headerBytes], nonce, plaintext, nil), nil
}
