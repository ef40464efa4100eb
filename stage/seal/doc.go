// Package seal measures what it costs to turn a notification into an encrypted and signed
// Web Push request, library against library and mode against mode.
//
// # Work
//
// One operation prepares one message of 365 bytes for the next of seven subscriptions, three with
// endpoints of the form that Google's push service uses and four of Mozilla's form. Nothing is
// sent. The subscriptions' keys are drawn from the run's seed.
//
//   - pad=none, pad=4096: every mode of package webpush beside webpush-go and a plain reference,
//     as=request (an *http.Request ready to be sent) or as=parts (the body and the header fields).
//   - slice=page: the nine rows of the published page, under its names; docs/evidence/webpush.md
//     says how they correspond to the modes.
//
// # Proof
//
// Package webpush/receiver opens every message that a contender makes in its proof, and verifies
// the VAPID token. It holds the browsers' keys and shares no code with the senders. The proof also
// checks which ECDH keys and tokens are used twice, so that a row that says "fresh for every
// message" and reuses a key fails.
//
// # Floors
//
// A mode's floor is the primitives that its messages need at least, one after the other: P-256 key
// generation, ECDH, the SHA-256 compressions of the key schedule, and AES-128-GCM with a new key.
// The bare compressions are less work than any HKDF; the floor with hkdf=std has crypto/hkdf
// instead. No floor has signatures, because a token serves for hours.
package seal
