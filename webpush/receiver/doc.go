// Package receiver is the other end of Web Push: it opens messages as a browser does (RFC 8188, RFC
// 8291) and verifies VAPID tokens as a push service does (RFC 8292).
//
// It is for people who test a sender, theirs or another. It shares no code with package webpush and
// is written for clarity, from the RFCs, with the standard library's own HKDF, ECDH, AES-GCM and
// ECDSA: if the two agree, both are probably right.
//
// A [Receiver] plays one browser's subscription:
//
//	r, err := receiver.Generate()
//	subscription, err := r.SubscriptionJSON("https://push.example/abc") // give this to the sender
//	message, err := r.Open(body)                                        // what the sender posted
package receiver
