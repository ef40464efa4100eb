package seal

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"

	"postage/lab"
)

// A primitive is a step of sealing, as fast as the standard library does it.
type primitive struct {
	name string
	open func(w *workload, pad padding) (step, error)
}

// bodyOverhead is what a body adds to its plaintext: its header, and GCM's tag.
const bodyOverhead = 86 + 16

// step does the primitive once, for recipient i.
type step func(i int) error

// kept holds results, so that the compiler does not remove their computation.
var kept struct {
	bytes []byte
	hash  hash.Hash
	aead  cipher.AEAD
}

var (
	keygen = primitive{"keygen", func(*workload, padding) (step, error) {
		return func(int) error {
			k, err := ecdh.P256().GenerateKey(rand.Reader)
			if err == nil {
				kept.bytes = k.PublicKey().Bytes()
			}
			return err
		}, nil
	}}
	agreement = primitive{"ecdh", func(w *workload, _ padding) (step, error) {
		k, err := ecdh.P256().GenerateKey(rand.Reader)
		if err != nil {
			return nil, err
		}
		var others []*ecdh.PublicKey
		for i := range w.recipients {
			other, err := ecdh.P256().NewPublicKey(w.recipients[i].browser.PublicKey())
			if err != nil {
				return nil, err
			}
			others = append(others, other)
		}
		return func(i int) (err error) {
			kept.bytes, err = k.ECDH(others[i])
			return err
		}, nil
	}}
	// The whole key schedule is five HMACs (RFC 8291 section 3.4): two with messages of 32 bytes,
	// one of 145, and two with the same key, whose padded blocks are hashed only once: 4 + 6 + 4 +
	// 4 + 2 compressions. Those from the input keying material on are 10.
	schedule        = compressions("hkdf", 20)
	contentSchedule = compressions("hkdf-content", 10)
	// The same with the standard library's HKDF, which most senders use.
	stdContentSchedule = primitive{"crypto-hkdf-content", func(*workload, padding) (step, error) {
		return stdContent(make([]byte, 32)), nil
	}}
	salt = primitive{"salt", func(*workload, padding) (step, error) {
		s := make([]byte, 16)
		return func(int) error {
			kept.bytes = s
			_, err := rand.Read(s)
			return err
		}, nil
	}}
	// AES-128-GCM of the message, with a new key.
	seal = primitive{"aes-gcm", func(_ *workload, pad padding) (step, error) {
		plaintextBytes := pad.bodyBytes() - bodyOverhead
		key, nonce := make([]byte, 16), make([]byte, 12)
		plaintext, body := make([]byte, plaintextBytes), make([]byte, 0, plaintextBytes+16)
		return func(int) error {
			block, err := aes.NewCipher(key)
			if err != nil {
				return err
			}
			if kept.aead, err = cipher.NewGCM(block); err != nil {
				return err
			}
			kept.bytes = kept.aead.Seal(body, nonce, plaintext, nil)
			return nil
		}, nil
	}}
)

// compressions hashes a number of blocks in one Write and does nothing else.
func compressions(name string, blocks int) primitive {
	return primitive{name, func(*workload, padding) (step, error) {
		h, text := sha256.New(), make([]byte, blocks*sha256.BlockSize)
		return func(int) error {
			kept.hash = h
			h.Reset()
			_, err := h.Write(text)
			return err
		}, nil
	}}
}

// stdContent derives content key and nonce (RFC 8188 sections 2.2 and 2.3) with crypto/hkdf.
func stdContent(ikm []byte) step {
	salt := make([]byte, 16)
	return func(int) error {
		prk, err := hkdf.Extract(sha256.New, ikm, salt)
		if err != nil {
			return err
		}
		if kept.bytes, err = hkdf.Expand(sha256.New, prk, "Content-Encoding: aes128gcm\x00", 16); err != nil {
			return err
		}
		kept.bytes, err = hkdf.Expand(sha256.New, prk, "Content-Encoding: nonce\x00", 12)
		return err
	}
}

// composed is a mode's floor: its primitives, one after the other.
func composed(mode string, pad padding, primitives ...primitive) lab.Contender {
	name := "floor=composed/mode=" + mode
	sum := ""
	for i, p := range primitives {
		if i > 0 {
			sum += " + "
		}
		sum += p.name
	}
	return lab.Contender{
		Name: name, Floor: true, OwnFloor: name, Settings: map[string]string{"sum": sum},
		Checks: "every primitive of the sum runs and gives a result",
		Open:   openPrimitives(pad, primitives),
	}
}

func openPrimitives(pad padding, primitives []primitive) func(context.Context, lab.Env) (lab.Instance, error) {
	return func(_ context.Context, env lab.Env) (lab.Instance, error) {
		w, err := newWorkload(env.Seed)
		if err != nil {
			return nil, err
		}
		var f floor
		for _, p := range primitives {
			s, err := p.open(w, pad)
			if err != nil {
				return nil, fmt.Errorf("seal: %s: %w", p.name, err)
			}
			f.steps = append(f.steps, s)
		}
		f.recipients = len(w.recipients)
		return &f, nil
	}
}

// floor runs primitives.
type floor struct {
	steps      []step
	recipients int
	next       int
}

func (f *floor) Prove(context.Context) error {
	if len(f.steps) == 0 {
		return errors.New("a floor of nothing")
	}
	nothing := sha256.Sum256(nil)
	for i, s := range f.steps {
		kept.bytes, kept.hash = nil, nil
		err := s(0)
		result := kept.bytes
		if kept.hash != nil {
			result = kept.hash.Sum(nil)
		}
		if err == nil && (bytes.Count(result, []byte{0}) == len(result) || bytes.Equal(result, nothing[:])) {
			err = errors.New("gives no result")
		}
		if err != nil {
			return fmt.Errorf("primitive %d: %w", i+1, err)
		}
	}
	return f.Run(f.recipients)
}

func (f *floor) Run(n int) error {
	for range n {
		for _, s := range f.steps {
			if err := s(f.next); err != nil {
				return err
			}
		}
		if f.next++; f.next == f.recipients {
			f.next = 0
		}
	}
	return nil
}

func (f *floor) Close() error { return nil }
