// Package seal measures what it costs to turn a notification into an encrypted and signed
// Web Push request, library against library and mode against mode.
//
// # Work
//
// One operation prepares one message of 365 bytes for the next of seven subscriptions,
// three with endpoints as Google's push service gives them and four as Mozilla's. Nothing
// is sent, but in send=loopback. The subscriptions' keys are drawn from the run's seed.
//
//   - pad=none, pad=4096: every mode of package webpush beside webpush-go and a plain
//     reference, as=request (an *http.Request ready to be sent) or as=parts (the body and
//     the header fields).
//   - slice=page: the nine rows of the published page, under its names; docs/webpush.md
//     says how they map.
//   - part=...: the primitives alone.
//   - send=loopback: a broadcast over TLS and HTTP/2 to a push service in a process of its
//     own.
//
// # Proof
//
// Every message that a contender makes in its proof is opened by package
// webpush/receiver, which holds the browsers' keys and shares no code with the senders,
// and its VAPID token is verified. The proof also looks at which ECDH keys and tokens
// come twice, so that a row that says "fresh for every message" and reuses a key fails.
//
// # Floors
//
// A mode's floor is the primitives that its messages cannot do without, one after the
// other: P-256 key generation, ECDH, the SHA-256 compressions of the key schedule,
// and AES-128-GCM with a new key. The compressions are those of the key schedule and no
// more, which no HKDF reaches; the floor with hkdf=std has crypto/hkdf in their place.
// Signatures are in no floor: a token serves for hours.
package seal
