package webpush

import (
	"crypto/ecdh"
	"crypto/rand"
	"errors"
	"fmt"
)

// A localKey is an ECDH key pair of the sender.
type localKey struct {
	private *ecdh.PrivateKey
	public  [publicKeyBytes]byte
}

func newLocalKey() (k localKey, err error) {
	if k.private, err = ecdh.P256().GenerateKey(rand.Reader); err != nil {
		return k, fmt.Errorf("webpush: generate ECDH key: %w", err)
	}
	copy(k.public[:], k.private.PublicKey().Bytes())
	return k, nil
}

// agree computes the ECDH secret of k and the subscription, and with it sets s.public and s.ikm.
func (k *localKey) agree(s *schedule, sub Subscription) error {
	theirs, err := ecdh.P256().NewPublicKey(s.theirs(sub)) // a hundredth of what ECDH takes
	if err != nil {
		return errors.New("webpush: the subscription's key is not on the curve") // impossible: it was checked
	}
	secret, err := k.private.ECDH(theirs)
	if err != nil {
		return errors.New("webpush: ECDH with the subscription's key failed")
	}
	s.public = k.public
	s.deriveIKM(secret, sub)
	clear(secret)
	return nil
}
