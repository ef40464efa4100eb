package webpush

import (
	"bytes"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"testing"
	"time"
)

// fixedSealer seals with one given key pair and salt.
func fixedSealer(t testing.TB, private, salt []byte) *sealer {
	t.Helper()
	s, err := newSealer(Reuse{}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.close() })
	key, err := ecdh.P256().NewPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	k := &localKey{private: key, public: [publicKeyBytes]byte(key.PublicKey().Bytes())}
	s.keys = fixedKey{k}
	s.fixSalt = func(b *[saltBytes]byte) { copy(b[:], salt) }
	return s
}

// A fixedKey is used for every message.
type fixedKey struct{ key *localKey }

func (k fixedKey) agree(s *schedule, sub Subscription, _ time.Time) error { return k.key.agree(s, sub) }

func (fixedKey) close() {}

func mustDecode(t testing.TB, text string) []byte {
	t.Helper()
	b, err := decodeBase64(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestRFC8291Example makes the message of RFC 8291 section 5, byte for byte.
func TestRFC8291Example(t *testing.T) {
	sub, err := NewSubscription("https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV",
		"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
		"BTBZMqHH6r4Tts7J_aSIgg")
	if err != nil {
		t.Fatal(err)
	}
	s := fixedSealer(t, mustDecode(t, "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"), mustDecode(t, "DGv6ra1nlYgDCS1FRnbzlw"))
	var key, nonce []byte
	s.onSeal = func(k, n []byte) { key, nonce = bytes.Clone(k), bytes.Clone(n) }
	got, err := s.AppendEncrypt(nil, []byte("When I grow up, I want to be a watermelon"), sub, Padding{})
	if err != nil {
		t.Fatal(err)
	}
	const want = "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
	if encodeBase64(got) != want {
		t.Errorf("body\n got %s\nwant %s", encodeBase64(got), want)
	}
	if encodeBase64(key) != "oIhVW04MRdy2XN9CiKLxTg" || encodeBase64(nonce) != "4h_95klXJ5E_qnoN" {
		t.Errorf("key %s, nonce %s are not as in RFC 8291 appendix A", encodeBase64(key), encodeBase64(nonce))
	}
}

// TestScheduleAgainstStandardLibrary compares the key schedule with crypto/hkdf
// and crypto/hmac, through the hash's state and without.
func TestScheduleAgainstStandardLibrary(t *testing.T) {
	w := newWorkload(t)
	withState, stateless := newSchedule(), newSchedule()
	if withState.state == nil {
		t.Error("the SHA-256 here does not give its state as expected: correct, but slower than it could be")
	}
	stateless.state = nil
	for _, s := range []*schedule{withState, stateless} {
		for length := range 184 {
			key, message := make([]byte, 1+length%64), make([]byte, length)
			rand.Read(key)
			rand.Read(message)
			var got [32]byte
			s.hmac(&got, key, message)
			mac := hmac.New(sha256.New, key)
			mac.Write(message)
			if !hmac.Equal(got[:], mac.Sum(nil)) {
				t.Fatalf("HMAC of %d bytes differs", length)
			}
		}
		for _, sub := range w.subs {
			secret := make([]byte, 32)
			rand.Read(secret)
			rand.Read(s.salt[:])
			w.subs[0].appendPublic(s.public[:0])
			s.deriveIKM(secret, sub)
			key, nonce := s.deriveKey()

			info := infoWebPush + string(sub.appendPublic(nil)) + string(s.public[:])
			ikm, err := hkdf.Key(sha256.New, secret, []byte(sub.auth()), info, 32)
			if err != nil {
				t.Fatal(err)
			}
			wantKey, err := hkdf.Key(sha256.New, ikm, s.salt[:], "Content-Encoding: aes128gcm\x00", 16)
			if err != nil {
				t.Fatal(err)
			}
			wantNonce, err := hkdf.Key(sha256.New, ikm, s.salt[:], "Content-Encoding: nonce\x00", 12)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(key, wantKey) || !bytes.Equal(nonce, wantNonce) {
				t.Fatal("key or nonce differs from crypto/hkdf's")
			}
		}
	}
}

// TestReleaseForgets looks for secrets in a schedule that was handed back.
func TestReleaseForgets(t *testing.T) {
	s := newSchedule()
	sub := newWorkload(t).subs[0]
	if err := (freshKeys{}).agree(s, sub, time.Now()); err != nil {
		t.Fatal(err)
	}
	s.deriveKey()
	s.release()
	if *s != (schedule{hasher: hasher{digest: s.digest, state: s.state}}) {
		t.Error("something is left in a released schedule")
	}
}
