package load

import (
	"context"
	"time"
)

// Work is one line's share of a plan. Its methods may be called at any time.
type Work struct {
	run   *run
	tally *tally
}

// Take waits until a request is due and says when that was, or that there are no more.
// The line has had room for it since free, or before.
func (w *Work) Take(free time.Time) (due time.Time, ok bool) {
	if w.run.plan.Rate == 0 {
		return w.Try(time.Now(), free)
	}
	offset, ok := <-w.run.dues
	return w.taken(offset, ok, time.Now(), free)
}

// Try takes a request if one is due now.
func (w *Work) Try(now, free time.Time) (due time.Time, ok bool) {
	if w.run.plan.Rate == 0 {
		return now, now.Before(w.run.end) && w.run.ctx.Err() == nil
	}
	select {
	case offset, ok := <-w.run.dues:
		return w.taken(offset, ok, now, free)
	default:
		return time.Time{}, false
	}
}

func (w *Work) taken(offset time.Duration, ok bool, now, free time.Time) (time.Time, bool) {
	if !ok {
		return time.Time{}, false
	}
	return w.sent(w.run.start.Add(offset), now, free)
}

// claim gives the next request to a line that waits itself until it is due, and says when
// that is. The line then calls sent, or unclaim.
func (w *Work) claim() (due time.Time, ok bool) {
	w.run.pacing.Lock()
	defer w.run.pacing.Unlock()
	if w.run.ctx.Err() != nil {
		return time.Time{}, false
	}
	offset, ok := w.run.next()
	if ok {
		w.run.planned++
	}
	return w.run.start.Add(offset), ok
}

// unclaim tells that a claimed request was not due before the run was interrupted.
func (w *Work) unclaim() {
	w.run.pacing.Lock()
	defer w.run.pacing.Unlock()
	w.run.planned--
}

// sent tells that a request is sent for which there was room since free, or says that it is
// not to be.
func (w *Work) sent(due, now, free time.Time) (time.Time, bool) {
	if w.run.ctx.Err() != nil {
		w.giveUp(due, now)
		return time.Time{}, false
	}
	ready := due
	if free.After(due) {
		ready = free
	}
	w.tally.mu.Lock()
	defer w.tally.mu.Unlock()
	record(w.tally.late, now.Sub(ready))
	// A hundredth of the plan is what Shortfall tolerates.
	if now.Sub(w.run.end) <= w.run.plan.Duration/100 {
		w.tally.onTime++
	}
	return due, true
}

// Done tells what came of a request that was due at a time, and when: its answer's status, 0
// if there was none, and why it is no success.
func (w *Work) Done(due, now time.Time, status int, err error) {
	if w.run.requests.Err() != nil {
		if err = context.Cause(w.run.requests); err != errNoAnswer {
			w.giveUp(due, now)
			return
		}
	}
	w.tally.mu.Lock()
	defer w.tally.mu.Unlock()
	w.tally.done(due, now, status, err)
}

// message tells of a message of a stream, that was sent or came, and its latency, 0 if it has
// none.
func (w *Work) message(sent bool, latency time.Duration) {
	w.tally.mu.Lock()
	defer w.tally.mu.Unlock()
	if sent {
		w.tally.sent++
	} else {
		w.tally.received++
	}
	if latency > 0 {
		if w.tally.messages == nil {
			w.tally.messages = newLatencies()
		}
		record(w.tally.messages, latency)
	}
}

// giveUp tells that a request had no answer when the plan was interrupted. It is neither a
// success nor a failure; but it has taken that long, or a standstill would be hidden.
func (w *Work) giveUp(due, now time.Time) {
	w.tally.mu.Lock()
	defer w.tally.mu.Unlock()
	w.tally.unanswered++
	record(w.tally.latency, now.Sub(due))
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
