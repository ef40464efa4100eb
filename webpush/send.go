package webpush

import (
	"context"
	"errors"
)

// Send encrypts msg to sub, signs and posts it, and tries again as
// [Config.Retry] says. A nil error means that the push service took the
// message, not that the browser has it. Any other error is a [*SendError].
//
// All attempts carry the same encrypted body. Where the key ring has several
// keys and it is not known which one sub was made with, a 401 or 403 leads to
// an attempt with the next key.
func (c *Client) Send(ctx context.Context, sub Subscription, msg []byte, opts Options) (Receipt, error) {
	d := delivery{client: c, sealer: c.sealer}
	r := d.run(ctx, sub, msg, &opts)
	return r.Receipt, r.Err
}

// A delivery is one message on its way.
type delivery struct {
	client *Client
	sealer *Sealer
	gate   chan struct{} // bounds the attempts under way, if not nil
	doors  *doors        // keeps the others waiting for the first connection, if not nil

	sub       Subscription
	attempts  int
	ambiguous bool // an attempt may have been taken though no answer said so
}

func (d *delivery) run(ctx context.Context, sub Subscription, msg []byte, opts *Options) Result {
	d.sub = sub
	h, err := d.client.header(sub, opts)
	if err != nil {
		return d.fail(Invalid, err)
	}
	if err := ctx.Err(); err != nil {
		return d.fail(Canceled, err)
	}
	body, err := d.sealer.AppendEncrypt(nil, msg, sub, opts.Padding)
	if err != nil {
		if errors.Is(err, ErrTooLarge) {
			return d.fail(TooLarge, err)
		}
		return d.fail(Invalid, err)
	}
	return d.post(ctx, h, body)
}

// post makes attempts until one is answered for good.
func (d *delivery) post(ctx context.Context, h Header, body []byte) Result {
	c, sub := d.client, d.sub.s
	candidates := c.signer.candidates(sub)
	tries := 0 // with this key
	for {
		keys := candidates[0]
		var err error
		if h.Authorization, err = c.signer.authorization(sub.origin, keys, c.now()); err != nil {
			return d.fail(Invalid, err)
		}
		a, err := d.attempt(ctx, h, body)
		if err != nil {
			return d.fail(Canceled, err)
		}
		tries++
		outcome, again := c.judge(ctx, &a)
		if outcome == Accepted {
			return Result{Receipt: Receipt{
				Status: a.status, Location: a.location, TTL: a.ttl,
				Attempts: d.attempts, MaybeDuplicate: d.ambiguous, ServerKey: keys.public,
			}}
		}
		d.ambiguous = d.ambiguous || a.isAmbiguous()
		if outcome == Canceled {
			return d.fail(Canceled, ctx.Err())
		}
		if (a.status == 401 || a.status == 403) && len(candidates) > 1 {
			candidates, tries = candidates[1:], 0
			continue
		}
		wait, ok := c.retry.wait(tries, &a)
		if !again || !ok {
			return d.refused(outcome, &a, h)
		}
		if err := sleep(ctx, wait); err != nil {
			if ctx.Err() == nil { // it would end during the wait
				return d.refused(outcome, &a, h)
			}
			return d.fail(Canceled, err)
		}
	}
}

// attempt makes one attempt when the gate lets it.
func (d *delivery) attempt(ctx context.Context, h Header, body []byte) (answer, error) {
	var connected func()
	if d.doors != nil {
		if connected = d.doors.enter(ctx, d.sub.s.origin); connected != nil {
			defer connected()
		}
	}
	if d.gate != nil {
		select {
		case d.gate <- struct{}{}:
			defer func() { <-d.gate }()
		case <-ctx.Done():
			return answer{}, ctx.Err()
		}
	}
	d.attempts++
	return d.client.attempt(ctx, d.sub.s, h, body, connected), nil
}

// judge sorts an answer and says whether trying again may help.
func (c *Client) judge(ctx context.Context, a *answer) (outcome Outcome, again bool) {
	switch s := a.status; {
	case s == 0 && ctx.Err() != nil:
		return Canceled, false
	case s == 0:
		return Unreachable, !a.written || c.retry.AfterWrite
	case s >= 200 && s < 300:
		return Accepted, false
	case s == 404 || s == 410:
		return Gone, false
	case s == 413:
		return TooLarge, false
	case s == 429:
		return RateLimited, true
	case s >= 500:
		return Unavailable, true
	}
	return Rejected, false
}

// isAmbiguous reports whether the service may have taken the message although
// it did not say so.
func (a *answer) isAmbiguous() bool {
	switch a.status {
	case 0:
		return a.written
	case 500, 502, 504:
		return true
	}
	return false
}

// fail is the result of a message that something here stopped.
func (d *delivery) fail(outcome Outcome, err error) Result {
	e := d.newError(outcome)
	e.Err, e.detail = err, err.Error()
	return Result{Err: e}
}

// refused is the result of a message whose last attempt was answered by a.
func (d *delivery) refused(outcome Outcome, a *answer, h Header) Result {
	e := d.newError(outcome)
	e.Status, e.Reason, e.RetryAfter = a.status, a.reason, a.retryAfter
	if a.err != nil {
		e.Err, e.detail = a.err, cleanText(a.err.Error(), d.sub.s, h.Authorization)
	}
	return Result{Err: e}
}

func (d *delivery) newError(outcome Outcome) *SendError {
	return &SendError{
		Outcome: outcome, Origin: d.sub.Origin(), Fingerprint: d.sub.Fingerprint(),
		Attempts: d.attempts, MaybeSent: d.ambiguous,
	}
}
