// Package webpush encrypts, signs and sends Web Push messages: the protocol of RFC 8030, the
// content coding of RFC 8188, the key agreement of RFC 8291 and the sender identification (VAPID)
// of RFC 8292.
//
//	sub, err := webpush.ParseSubscription(stored) // what the browser's toJSON() gave
//	client, err := webpush.NewClient(webpush.Config{Keys: ring, Subject: "mailto:ops@example.com"})
//	receipt, err := client.Send(ctx, sub, []byte("Dinner is ready"), webpush.Options{})
//	if errors.Is(err, webpush.Gone) {
//		// the browser has unsubscribed: forget sub
//	}
//
// A message goes through three steps, and each can be used on its own:
//
//  1. [ParseSubscription] turns what the browser's PushSubscription.toJSON()
//     gave into a [Subscription]: keys decoded, point checked to be on the
//     curve, endpoint parsed, origin normalised. Do it once and keep the value.
//  2. [Client.AppendMessage] encrypts it to a subscription (a fresh ECDH key and a fresh salt, HKDF,
//     AES-128-GCM, one record) and gives the header fields, with the VAPID token of the
//     subscription's origin, signed once and cached for hours. [Client.NewRequest] makes a request
//     of them.
//  3. [Client.Send] and [Client.Broadcast] post it, try again where the push service asked for it,
//     and report the outcome of every message.
//
// This package is opinionated. The default makes a new ECDH key pair and a new salt for every
// message, as RFC 8291 section 3.1 says. To trade that for speed, name a [Reuse]:
// [KeyPerBroadcast], [SharedKey] or [SessionKeys]. Whatever the mode, the salt is fresh for every
// message, so that no two messages share a content encryption key and nonce. Keys that are reused
// live in memory only.
//
// No secret (private key, authentication secret, endpoint path, token) appears
// in an error or in the formatted or logged form of any type here. But fmt prints the fields of a
// [Header] that is in a field of yours which is not exported.
//
// Note: what was left out. The older "aesgcm" coding is not made: every current browser reads
// aes128gcm. Messages of more than one record are not made: RFC 8291 section 4 forbids them. Salts
// are not drawn in batches: a virtual machine restored twice from one snapshot would use a batch
// twice, and with a reused key that would reveal messages.
package webpush
