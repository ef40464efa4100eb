package seal

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ecdh"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"postage/webpush"
	"postage/webpush/receiver"
)

// Prove makes every subscription's message twice with Run, opens all of them, and checks what they
// share.
func (in *instance) Prove(ctx context.Context) error {
	keys, tokens, salts := newSeen("ECDH key"), newSeen("VAPID token"), newSeen("salt")
	const rounds = 2
	made, err := in.products(ctx, rounds)
	if err != nil {
		return err
	}
	for n, p := range made {
		i := n % len(in.workload.recipients)
		r := &in.workload.recipients[i]
		at := use{n / len(in.workload.recipients), i, r.origin}
		authorization := p.fields().Get("Authorization")
		if err := checkVAPID(authorization, r.origin, in.workload.keys, in.workload.now()); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		tokens.add(authorization, at)
		if in.contender.alone {
			if _, err := ecdh.P256().NewPublicKey(p.body); err != nil {
				return fmt.Errorf("key %d: %w", i, err)
			}
			keys.add(string(p.body), at)
			continue
		}
		body, err := in.checkMessage(p, r)
		if err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		// RFC 8188 section 2.1: salt (16), record size (4), length of the key id (1), the
		// key id, which RFC 8291 section 4 makes the sender's public key (65).
		salts.add(string(body[:16]), at)
		keys.add(string(body[21:86]), at)
	}
	return cmp.Or(salts.want(perMessage), keys.want(in.contender.key), tokens.want(in.contender.token))
}

// products makes rounds of messages to all recipients, and returns copies of them.
func (in *instance) products(ctx context.Context, rounds int) (made []product, err error) {
	recipients := in.workload.recipients
	in.next = 0
	for range rounds * len(recipients) {
		if err := errors.Join(ctx.Err(), in.Run(1)); err != nil {
			return nil, err
		}
		p := in.last
		p.body = bytes.Clone(p.body) // the next message has the same buffer
		made = append(made, p)
	}
	return made, nil
}

// checkVAPID verifies a token for an origin at a given time, as the push service would.
func checkVAPID(authorization, origin string, keys *webpush.VAPIDKeys, now time.Time) error {
	claims, err := receiver.VerifyVAPID(authorization, origin, now)
	if err != nil {
		return err
	}
	if claims.PublicKey != keys.PublicKey() {
		return fmt.Errorf("the token is signed by another key")
	}
	if claims.Subject != contact {
		return fmt.Errorf("the token's subject is %q, want %q", claims.Subject, contact)
	}
	return nil
}

// checkMessage opens the body, checks the header fields and the request, and returns the body.
func (in *instance) checkMessage(p product, r *recipient) ([]byte, error) {
	if p.request != nil {
		if p.request.Method != http.MethodPost || p.request.URL.String() != r.url {
			return nil, fmt.Errorf("the request is not a POST to the endpoint")
		}
		body, err := io.ReadAll(p.request.Body)
		if err != nil {
			return nil, fmt.Errorf("read the request's body: %w", err)
		}
		p.body = body
		if p.request.ContentLength >= 0 && p.request.ContentLength != int64(len(body)) {
			return nil, fmt.Errorf("the request says %d bytes and has %d", p.request.ContentLength, len(body))
		}
	}
	message, err := r.browser.Open(p.body)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(message, in.workload.message) {
		return nil, fmt.Errorf("the browser reads %d bytes that are not the message", len(message))
	}
	if len(p.body) != in.pad.bodyBytes() {
		return nil, fmt.Errorf("the body has %d bytes, want %d with pad=%v", len(p.body), in.pad.bodyBytes(), in.pad)
	}
	for name, want := range map[string]string{"Content-Encoding": "aes128gcm", "Ttl": strconv.Itoa(ttlSeconds), "Content-Type": "application/octet-stream"} {
		if got := p.fields().Get(name); got != want {
			return nil, fmt.Errorf("header field %s is %q, want %q", name, got, want)
		}
	}
	return p.body, nil
}

// use is where a value was seen: the round, the recipient, and the recipient's origin.
type use struct {
	round, recipient int
	origin           string
}

// seen has the values of one kind, and their uses.
type seen struct {
	what string
	uses map[string][]use
}

func newSeen(what string) *seen { return &seen{what, map[string][]use{}} }

func (s *seen) add(value string, at use) { s.uses[value] = append(s.uses[value], at) }

// want checks that values were used for exactly that long.
func (s *seen) want(f freshness) error {
	group := func(u use) any {
		switch f {
		case perSubscription:
			return u.recipient
		case perOrigin:
			return u.origin
		}
		return u
	}
	owner := map[any]string{}
	for value, uses := range s.uses {
		for _, u := range uses {
			if group(u) != group(uses[0]) {
				return fmt.Errorf("one %s is used twice (messages %d and %d), but the row says: %s", s.what, uses[0].recipient, u.recipient, f)
			}
			if other, ok := owner[group(u)]; ok && other != value {
				return fmt.Errorf("the %s of message %d is new, but the row says: %s", s.what, u.recipient, f)
			}
			owner[group(u)] = value
		}
	}
	return nil
}
