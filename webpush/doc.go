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
//  1. [ParseSubscription] checks and decodes what PushSubscription.toJSON() gave in the browser. Do
//     it once and keep the [Subscription].
//  2. [Client.AppendMessage] encrypts the message to a subscription and gives the header fields.
//     Their VAPID token is signed once for an origin and kept for hours. [Client.NewRequest] makes a
//     request.
//  3. [Client.Send] and [Client.Broadcast] post it, try again where the push service asked for it,
//     and report the outcome of every message.
//
// Every message has a new ECDH key pair (RFC 8291 section 3.1), unless you name a [Reuse], and
// always a new salt, so that no two messages share a content encryption key and nonce.
//
// No secret (private key, authentication secret, endpoint path, token) appears in an error or in
// the formatted or logged form of any type here. But fmt prints a [Header] in a field of yours that
// is not exported.
//
// Note: what was left out. The older "aesgcm" coding: every current browser reads aes128gcm.
// Messages of more than one record: RFC 8291 section 4 forbids them. Salts drawn in batches: a
// virtual machine restored twice from one snapshot would use a batch twice.
package webpush
