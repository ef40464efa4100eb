package webpush

import (
	"context"
	"time"
)

// A timeLimit bounds the time of requests that are made one after the other. They share a context
// until it has ended: a context with a timer for each request would take five allocations and a
// lock that all requests of a broadcast share.
type timeLimit struct {
	parent   context.Context
	ctx      context.Context // nil if the next request needs a new one
	cancel   context.CancelCauseFunc
	timer    *time.Timer
	deadline time.Time
}

func newTimeLimit(parent context.Context) *timeLimit { return &timeLimit{parent: parent} }

// start gives the context of a request that may take so long.
func (l *timeLimit) start(d time.Duration) context.Context {
	l.deadline = time.Now().Add(d)
	if l.ctx != nil {
		l.timer.Reset(d)
		return l.ctx
	}
	ctx, cancel := context.WithCancelCause(l.parent)
	l.ctx, l.cancel = ctx, cancel
	l.timer = time.AfterFunc(d, func() { cancel(context.DeadlineExceeded) })
	return ctx
}

// shorten leaves the request no more than d from now on.
func (l *timeLimit) shorten(d time.Duration) { l.timer.Reset(min(d, time.Until(l.deadline))) }

// stop is the end of the request.
func (l *timeLimit) stop() {
	if l.ctx != nil && (!l.timer.Stop() || l.ctx.Err() != nil) {
		l.end()
	}
}

// end releases the context; there may be requests after it.
func (l *timeLimit) end() {
	if l.ctx != nil {
		l.timer.Stop()
		l.cancel(nil)
		l.ctx = nil
	}
}

// A deadlineContext tells the deadline at which the limit's own timer cancels it: one timer less
// than context.WithDeadline, and six allocations.
type deadlineContext struct {
	context.Context
	deadline time.Time
}

// Deadline is the limit's, or the caller's if that is sooner.
func (c deadlineContext) Deadline() (time.Time, bool) {
	if sooner, ok := c.Context.Deadline(); ok && sooner.Before(c.deadline) {
		return sooner, true
	}
	return c.deadline, true
}
