package webpush

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding"
	"encoding/binary"
	"hash"
	"sync"
)

// A schedule computes the key schedule of RFC 8291 section 3.4 without allocating. It is
// HKDF-SHA-256 (RFC 5869) cut down to what the schedule needs: every output is at most one hash
// long, so that HKDF-Expand is one HMAC over info and the byte 1.
//
// For such a short message a hash.Hash spends about half of its time on buffering, padding and
// copying itself. Here the message is laid out in whole blocks, its SHA-256 padding included (FIPS
// 180-4 section 5.1.1), hashed by one Write, and the digest is read from the state that the hash
// gives for saving. Where that state does not look as expected (it is compared once), sha256.Sum256
// is used.
//
// SHA-256 runs in constant time, and nothing here branches on a secret.
type schedule struct {
	hasher

	info  [len(infoWebPush) + 2*publicKeyBytes + 1]byte
	prk   [sha256.Size]byte // of the ECDH secret, then of ikm
	key   [sha256.Size]byte // the first 16 bytes count
	nonce [sha256.Size]byte // the first 12 bytes count

	salt   [saltBytes]byte
	ikm    [sha256.Size]byte
	auth   [authSecretBytes]byte
	public [publicKeyBytes]byte // the sender's
}

// A hasher computes HMAC-SHA-256.
type hasher struct {
	digest hash.Hash
	state  encoding.BinaryAppender // digest again, or nil if its state cannot be used

	block [4 * sha256.BlockSize]byte // the HMAC's padded key, a message, padding
	saved [128]byte                  // a digest's state is 108 bytes
}

// Info strings, each with its terminating zero byte; the last two also with the
// counter byte of HKDF-Expand.
const infoWebPush = "WebPush: info\x00"

var (
	infoKey   = []byte("Content-Encoding: aes128gcm\x00\x01")
	infoNonce = []byte("Content-Encoding: nonce\x00\x01")
)

// The two constants of HMAC (RFC 2104), repeated to the length of a block.
var innerPad, outerPad = repeated(0x36), repeated(0x5c)

func repeated(b byte) (block [sha256.BlockSize]byte) {
	for i := range block {
		block[i] = b
	}
	return block
}

var schedules = sync.Pool{New: func() any { return newSchedule() }}

func newSchedule() *schedule {
	s := &schedule{hasher: hasher{digest: sha256.New()}}
	s.state, _ = s.digest.(encoding.BinaryAppender)
	var got [sha256.Size]byte
	s.hash(&got, 3)
	if got != sha256.Sum256(s.block[:sha256.BlockSize+3]) {
		s.state = nil
	}
	return s
}

func getSchedule() *schedule { return schedules.Get().(*schedule) }

// release overwrites every secret and hands s back.
func (s *schedule) release() {
	s.digest.Reset()
	*s = schedule{hasher: hasher{digest: s.digest, state: s.state}}
	schedules.Put(s)
}

// hash sets out to the SHA-256 of the first block and the message after it.
func (s *hasher) hash(out *[sha256.Size]byte, messageBytes int) {
	total := sha256.BlockSize + messageBytes
	if s.state == nil {
		*out = sha256.Sum256(s.block[:total])
		return
	}
	padded := (total + 1 + 8 + sha256.BlockSize - 1) &^ (sha256.BlockSize - 1)
	s.block[total] = 0x80
	clear(s.block[total+1 : padded-8])
	binary.BigEndian.PutUint64(s.block[padded-8:], uint64(total)*8)
	s.digest.Reset()
	s.digest.Write(s.block[:padded])
	saved, err := s.state.AppendBinary(s.saved[:0]) // four bytes of magic, then the eight words
	if err != nil || len(saved) < 4+sha256.Size {
		*out = sha256.Sum256(s.block[:total])
		return
	}
	copy(out[:], saved[4:])
}

// hmac sets out to HMAC-SHA-256(key, message). The key is at most a block long,
// and the message at most 183 bytes, which with its padding is three blocks.
func (s *hasher) hmac(out *[sha256.Size]byte, key, message []byte) {
	n := copy(s.block[sha256.BlockSize:], message)
	copy(s.block[:], innerPad[:])
	subtle.XORBytes(s.block[:], key, innerPad[:])
	s.hash(out, n)
	copy(s.block[sha256.BlockSize:], out[:])
	copy(s.block[:], outerPad[:])
	subtle.XORBytes(s.block[:], key, outerPad[:])
	s.hash(out, sha256.Size)
}

// theirs is the subscription's public key, in the place that it has in info.
func (s *schedule) theirs(sub Subscription) []byte {
	n := len(infoWebPush)
	return sub.appendPublic(s.info[n:n])
}

// deriveIKM sets ikm from the ECDH secret, the subscription's keys and the sender's public key in
// s.public (RFC 8291 section 3.3).
func (s *schedule) deriveIKM(ecdhSecret []byte, sub Subscription) {
	copy(s.auth[:], sub.auth())
	s.hmac(&s.prk, s.auth[:], ecdhSecret)
	n := copy(s.info[:], infoWebPush)
	n += len(s.theirs(sub))
	n += copy(s.info[n:], s.public[:])
	s.info[n] = 1
	s.hmac(&s.ikm, s.prk[:], s.info[:])
}

// deriveKey returns the content encryption key and the nonce, from salt and ikm
// (RFC 8188 sections 2.2 and 2.3). Both are valid until release.
func (s *schedule) deriveKey() (key, nonce []byte) {
	s.hmac(&s.prk, s.salt[:], s.ikm[:])
	s.hmac(&s.key, s.prk[:], infoKey)
	s.hmac(&s.nonce, s.prk[:], infoNonce)
	return s.key[:16], s.nonce[:12]
}
