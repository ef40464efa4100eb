package webpush

import (
	"errors"
	"slices"
	"sync/atomic"
)

// A KeyRing holds the VAPID keys of an application server while it changes from one to the next. A
// subscription is bound to the key it was made with (RFC 8292 section 4), so an old key has to sign
// for old subscriptions until their browsers have subscribed again.
//
// To rotate: call [KeyRing.Rotate], hand the new public key to browsers that
// subscribe from then on, store it beside each subscription
// ([WithServerKey]), and [KeyRing.Retire] the old one when nothing needs it.
//
// A KeyRing is safe for concurrent use.
type KeyRing struct {
	keys atomic.Pointer[[]*VAPIDKeys] // current first; the slice is never written to
}

// NewKeyRing makes a ring of the current keys and older ones, if any.
func NewKeyRing(current *VAPIDKeys, older ...*VAPIDKeys) (*KeyRing, error) {
	keys := append([]*VAPIDKeys{current}, older...)
	if slices.Contains(keys, nil) {
		return nil, errors.New("webpush: key ring: a key pair is nil")
	}
	r := new(KeyRing)
	r.keys.Store(&keys)
	return r, nil
}

// Current is the key pair for new subscriptions.
func (r *KeyRing) Current() *VAPIDKeys { return (*r.keys.Load())[0] }

// Keys lists the key pairs, the current one first.
func (r *KeyRing) Keys() []*VAPIDKeys { return slices.Clone(*r.keys.Load()) }

// Rotate makes k the current key pair and keeps the others as older ones.
func (r *KeyRing) Rotate(k *VAPIDKeys) error {
	if k == nil {
		return errors.New("webpush: key ring: rotate to no key pair")
	}
	r.update(func(keys []*VAPIDKeys) []*VAPIDKeys {
		rest := slices.DeleteFunc(keys, func(o *VAPIDKeys) bool { return o.public == k.public })
		return append([]*VAPIDKeys{k}, rest...)
	})
	return nil
}

// Retire forgets an older key pair. The current one cannot be retired; rotate first.
func (r *KeyRing) Retire(publicKey string) error {
	if r.Current().public == publicKey {
		return errors.New("webpush: key ring: the current key pair cannot be retired")
	}
	found := false
	r.update(func(keys []*VAPIDKeys) []*VAPIDKeys {
		older := slices.DeleteFunc(keys[1:], func(o *VAPIDKeys) bool { return o.public == publicKey })
		found = len(older) < len(keys)-1
		return append(keys[:1:1], older...)
	})
	if !found {
		return errors.New("webpush: key ring: no key pair with that public key")
	}
	return nil
}

// update replaces the list by the result of change on a copy of it.
func (r *KeyRing) update(change func([]*VAPIDKeys) []*VAPIDKeys) {
	for {
		old := r.keys.Load()
		changed := change(slices.Clone(*old))
		if r.keys.CompareAndSwap(old, &changed) {
			return
		}
	}
}
