package webpush

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// Send encrypts msg to sub, signs and posts it, and tries again as [Config.Retry] says. A nil error
// means that the push service took the message, not that the browser has it. Any other error is a
// [*SendError].
//
// All attempts carry the same body, and each says how much of the TTL is left. If the ring has
// several keys and it is not known which one sub was made with, an answer that may mean another key
// leads at once to an attempt with the next.
func (c *Client) Send(ctx context.Context, sub Subscription, msg []byte, opts Options) (Receipt, error) {
	d := delivery{job: &job{client: c, msg: msg, opts: opts}, recipient: recipient{sub: sub}}
	if !sub.IsZero() {
		d.origin = c.origin(sub.Origin())
	}
	r := d.run(ctx)
	if r.Err != nil {
		r = d.settle(ctx, r)
	}
	return r.Receipt, r.Err
}

// maxPatientAttempts bounds the attempts of a message whose origin throttles.
const maxPatientAttempts = 50

// A job is what all messages of a broadcast share.
type job struct {
	client  *Client
	msg     []byte
	opts    Options
	patient bool // throttling while the whole origin is in doubt does not count as a try
}

// longestWait is how long a service may ask for.
func (j *job) longestWait() time.Duration {
	if j.patient {
		return j.client.cfg.Limits.Patience
	}
	return j.client.cfg.Retry.MaxRetryAfter
}

// A recipient is a subscription with its number in the broadcast.
type recipient struct {
	sub   Subscription
	index int64
}

// A delivery is one message on its way.
type delivery struct {
	recipient
	job    *job
	origin *origin
	limit  *timeLimit
	sealed sealed
	past   attempts
}

// sealed is the message as it is sent.
type sealed struct {
	header     Header
	body       []byte       // nil until it is sealed
	candidates []*VAPIDKeys // that may sign: the first is the one to try
}

// attempts are what became of a message so far.
type attempts struct {
	made      int
	tries     int     // with this key
	again     bool    // refused once, and asked again
	ambiguous bool    // an attempt may have been taken though no answer said so
	last      Outcome // of the last attempt
	begun     time.Time
	sentAt    time.Time // of the last attempt
	notBefore time.Time // of the next attempt, or when it was refused
	waiting   Result    // what to say if there is no other attempt
}

// run makes attempts until one is answered for good.
func (d *delivery) run(ctx context.Context) Result {
	d.limit = newTimeLimit(ctx)
	defer d.limit.end()
	for {
		if r, ok := d.pass(ctx); !ok {
			return r
		}
		r, wait, done := d.step(ctx)
		if done {
			return r
		}
		if err := sleep(ctx, wait); err != nil {
			if ctx.Err() == nil { // it would end during the wait
				return r
			}
			return d.fail(Canceled, err)
		}
	}
}

// pass waits while the origin is paused. If that is too long, the message is not sent.
func (d *delivery) pass(ctx context.Context) (r Result, ok bool) {
	if d.origin == nil || ctx.Err() != nil {
		return Result{}, true
	}
	for {
		now := time.Now()
		pause := d.origin.pause(now)
		if pause == 0 {
			return Result{}, true
		}
		tooLong := pause > d.job.longestWait() || pause >= d.left(now)
		if tooLong || sleep(ctx, pause) != nil {
			if ctx.Err() != nil {
				return d.fail(Canceled, ctx.Err()), false
			}
			return d.deferred(time.Now()), false
		}
	}
}

// deferred is the result of a message that is not sent to its origin now: the last attempt's
// refusal, if there was one.
func (d *delivery) deferred(now time.Time) Result {
	if d.past.waiting.Err != nil {
		return d.past.waiting
	}
	e := d.newError(Deferred)
	e.RetryAfter, e.Err = d.origin.deferral(now)
	return Result{Err: e}
}

// step seals the message if that is not done yet and makes an attempt, or several
// where the first key is refused. If it is not done, the message may be tried
// again after the wait; the result is what to say if it is not.
func (d *delivery) step(ctx context.Context) (r Result, wait time.Duration, done bool) {
	if err := ctx.Err(); err != nil && d.past.made == 0 && !d.sub.IsZero() {
		return d.fail(Canceled, err), 0, true
	}
	if d.past.waiting.Err != nil && d.left(time.Now()) <= 0 { // it waited longer than it was to
		return d.past.waiting, 0, true
	}
	if d.sealed.body == nil {
		if r, ok := d.seal(); !ok {
			return r, 0, true
		}
	}
	for {
		if err := d.stamp(); err != nil {
			return d.fail(Failed, err), 0, true
		}
		d.past.made++
		a := d.job.client.attempt(d.limit, d.sub, d.sealed.header, d.sealed.body)
		d.past.tries++
		outcome, again := d.job.client.judge(ctx, &a)
		now := time.Now()
		d.past.last = outcome
		otherKey := a.clock == nil && a.mayBeOtherKey() && len(d.sealed.candidates) > 1
		suspected := !otherKey && d.origin.note(d, outcome, &a, now)
		if outcome == Accepted {
			return Result{Receipt: Receipt{
				Status: a.status, Location: a.location, TTL: a.ttl,
				Attempts: d.past.made, MaybeDuplicate: d.past.ambiguous, ServerKey: d.sealed.candidates[0].public,
			}}, 0, true
		}
		d.past.ambiguous = d.past.ambiguous || a.isAmbiguous()
		if outcome == Canceled {
			return d.fail(Canceled, ctx.Err()), 0, true
		}
		if otherKey {
			d.sealed.candidates, d.past.tries = d.sealed.candidates[1:], 0
			continue
		}
		r := Result{Err: d.refusal(outcome, &a)}
		if suspected {
			d.job.client.cfg.OnSuspect(ctx, asSuspect(r.Err))
		}
		if outcome == RateLimited && d.job.patient && d.past.made < maxPatientAttempts && (d.origin.inDoubt() || d.origin.pause(now) > 0) {
			d.past.tries-- // it is the origin's trouble, not the message's
		}
		wait, ok := d.job.client.cfg.Retry.wait(max(d.past.tries, 1), &a, d.job.longestWait())
		// A browser gets the message no later than its TTL after the first attempt, or never.
		if !again || !ok || wait >= d.left(now) {
			return r, 0, true
		}
		d.past.waiting = r
		return r, wait, false
	}
}

// isDoubtful reports whether the answer is one that a suspect service would give.
func (d *delivery) isDoubtful() bool {
	switch d.past.last {
	case Gone:
		return d.past.made > 0 && d.job.client.cfg.Limits.Gone >= 0
	case Rejected, KeyMismatch, Failed:
		return d.past.made > 0 && d.job.client.cfg.Limits.Refusals >= 0
	}
	return false
}

// settle gives a doubtful result as what it is now.
func (d *delivery) settle(ctx context.Context, r Result) Result {
	if d.isDoubtful() && d.origin.isSuspect() {
		return Result{Err: asSuspect(r.Err)}
	}
	if d.past.last == Gone && d.job.client.cfg.OnGone != nil {
		d.job.client.cfg.OnGone(context.WithoutCancel(ctx), d.sub) // what it deletes is gone, whether or not the broadcast is
	}
	return r
}

// asSuspect is a refusal that is not believed.
func asSuspect(err error) *SendError {
	e, _ := asType[*SendError](err)
	suspect := *e
	suspect.Outcome = Suspect
	return &suspect
}

// seal checks the message and encrypts it.
func (d *delivery) seal() (r Result, ok bool) {
	var err error
	if isRemoved(d.sub.Origin()) {
		return d.fail(Gone, errors.New("a host of .invalid, which is how Edge on Android says that it has unsubscribed")), false
	}
	if err = d.job.client.allows(d.sub); err != nil {
		return d.fail(Invalid, err), false
	}
	if d.sealed.header, err = d.job.opts.header(); err != nil {
		return d.fail(Failed, err), false
	}
	if d.sealed.body, err = d.job.opts.appendBody(d.job.client.sealer, nil, d.job.msg, d.sub, d.job.client.cfg.now()); err != nil {
		if errors.Is(err, TooLarge) {
			return d.fail(TooLarge, err), false
		}
		return d.fail(Failed, err), false
	}
	d.sealed.candidates = d.job.client.signer.candidates(d.sub)
	return Result{}, true
}

// stamp sets what may differ from attempt to attempt: its time, the token, and what is
// left of the TTL.
func (d *delivery) stamp() error {
	now := time.Now()
	d.past.sentAt = now
	if d.past.begun.IsZero() {
		d.past.begun = now
	} else if text, err := ttlHeader(cmp.Or(max(d.left(now), 0), TTLZero)); err == nil {
		d.sealed.header.TTL = text
	}
	return d.job.client.signer.authorize(&d.sealed.header, d.sub.Origin(), d.sealed.candidates[0], d.job.client.cfg.now())
}

// left is what is left of the TTL, all of it before the first attempt.
func (d *delivery) left(now time.Time) time.Duration {
	if d.past.begun.IsZero() {
		return d.job.opts.ttl()
	}
	return d.job.opts.ttl() - now.Sub(d.past.begun)
}

// judge sorts an answer and says whether trying again may help.
func (c *Client) judge(ctx context.Context, a *answer) (outcome Outcome, again bool) {
	switch s := a.status; {
	case s == 0 && ctx.Err() != nil:
		return Canceled, false
	case s == 0 && isRefused(a.err):
		return Invalid, false
	case s == 0:
		return Unreachable, !a.written || c.cfg.Retry.AfterWrite
	case s >= 200 && s < 300:
		return Accepted, false
	case s == 404 || s == 410:
		return Gone, false
	case s == 413:
		return TooLarge, false
	case s == 429 || a.throttled:
		return RateLimited, true
	case s >= 500:
		return Unavailable, !a.isAmbiguous() || c.cfg.Retry.AfterWrite
	case a.clock != nil:
		return Failed, false
	case a.otherKey:
		return KeyMismatch, false
	}
	return Rejected, false
}

// isRefused reports whether no connection was made because of the address, which is the endpoint's
// fault.
func isRefused(err error) bool {
	_, refused := asType[*AddressError](err)
	return refused
}

// isAmbiguous reports whether the service may have taken the message although it did not say so.
func (a *answer) isAmbiguous() bool {
	switch a.status {
	case 0:
		return a.written
	case 500, 502, 504: // a server that failed, or a gateway that lost the answer
		return true
	}
	return false
}

// mayBeOtherKey reports whether the answer may mean that the subscription was made
// with another key: it says so, or it refuses the token without a reason we know.
func (a *answer) mayBeOtherKey() bool {
	return a.otherKey || a.status == 401 || a.status == 403
}

// fail is the result of a message that err, not an answer, put an end to.
func (d *delivery) fail(outcome Outcome, err error) Result {
	d.past.last = outcome
	e := d.newError(outcome)
	e.Err = err
	if size, ok := asType[*MessageSizeError](err); ok {
		e.FitsBytes = size.Max
	}
	return Result{Err: e}
}

// refusal is the result of a message whose last attempt was answered by a.
func (d *delivery) refusal(outcome Outcome, a *answer) *SendError {
	e := d.newError(outcome)
	e.Status, e.Reason, e.RetryAfter = a.status, a.reason, a.retryAfter
	e.Err = cmp.Or(a.err, a.clock)
	if outcome == TooLarge {
		e.FitsBytes = fits(len(d.sealed.body), a.reason)
	}
	return e
}

func (d *delivery) newError(outcome Outcome) *SendError {
	return &SendError{
		Outcome: outcome, Origin: d.sub.Origin(), Fingerprint: d.sub.Fingerprint(),
		Attempts: d.past.made, MaybeSent: d.past.ambiguous,
	}
}
