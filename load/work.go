package load

import (
	"context"
	"time"
)

// Work is one line's share of a plan. Its methods may be called concurrently.
type Work struct {
	run   *run
	tally *tally
}

// Take waits until a request is due and returns that time, or false if there are no more. The line
// has had room for it at least since free.
func (w *Work) Take(free time.Time) (due time.Time, ok bool) {
	w.run.turn <- struct{}{} // one line waits for the next request, the others for their turn
	defer func() { <-w.run.turn }()
	due, ok = w.claim(time.Now())
	if !ok {
		return due, false
	}
	if w.run.paced() && !w.run.await(due) && due.After(time.Now()) {
		w.unclaim()
		return due, false
	}
	return due, w.sent(due, time.Now(), free)
}

// claim reserves the next request for a line that waits itself until it is due, and returns that
// time. The line then calls sent or unclaim. Without a rate a request is due now.
func (w *Work) claim(now time.Time) (due time.Time, ok bool) {
	r := w.run
	if r.ctx.Err() != nil {
		return time.Time{}, false
	}
	if !r.paced() && r.plan.Most == 0 { // a lock would cost a twentieth of a request by HTTP/2
		return now, now.Before(r.end)
	}
	r.pacing.Lock()
	defer r.pacing.Unlock()
	if !r.paced() {
		r.planned++
		return now, now.Before(r.end) && r.planned <= r.plan.Most
	}
	offset, ok := r.arrive()
	if ok {
		r.planned++
	}
	return r.start.Add(offset), ok
}

// unclaim gives back a claimed request that was not due before the run was interrupted.
func (w *Work) unclaim() {
	w.run.pacing.Lock()
	defer w.run.pacing.Unlock()
	w.run.planned--
}

// sent counts a request that is sent now and for which there was room since free. It returns false
// if the request must not be sent.
func (w *Work) sent(due, now, free time.Time) (ok bool) {
	if !w.run.paced() {
		return true
	}
	if w.run.ctx.Err() != nil {
		w.giveUp(due, now)
		return false
	}
	ready := later(due, free)
	w.tally.mu.Lock()
	defer w.tally.mu.Unlock()
	record(w.tally.Late, now.Sub(ready))
	// Shortfall tolerates a hundredth of the plan.
	if now.Sub(w.run.end) <= w.run.end.Sub(w.run.start)/100 {
		w.tally.SentOnTime++
	}
	return true
}

// Done counts the outcome of a request that was due at a time: the time of its answer, its status
// (0 if there was no answer), and the error if it was not a success.
func (w *Work) Done(due, now time.Time, status int, err error) { w.done(-1, due, now, status, err) }

// done is Done for a request to one of the targets.
func (w *Work) done(target int, due, now time.Time, status int, err error) {
	if w.run.requests.Err() != nil {
		if err = context.Cause(w.run.requests); err != errNoAnswer {
			w.giveUp(due, now)
			return
		}
		status = 0 // an answer that comes now is not counted as one
	}
	w.tally.mu.Lock()
	defer w.tally.mu.Unlock()
	w.tally.done(due, now, status, err)
	if target >= 0 && target < len(w.tally.Targets) {
		w.tally.Targets[target].done(now.Sub(due), err)
	}
}

// message counts a message of a stream that was sent or came, and its latency, 0 if it has none.
func (w *Work) message(sent bool, latency time.Duration) {
	w.tally.mu.Lock()
	defer w.tally.mu.Unlock()
	if sent {
		w.tally.Sent++
	} else {
		w.tally.Received++
	}
	if latency > 0 {
		if w.tally.MessageLatency.Histogram == nil {
			w.tally.MessageLatency = newLatencies()
		}
		record(w.tally.MessageLatency, latency)
	}
}

// giveUp counts a request that had no answer when the plan was interrupted. It is neither a success
// nor a failure. Its latency so far counts; otherwise a server that stalled would not show.
func (w *Work) giveUp(due, now time.Time) {
	w.tally.mu.Lock()
	defer w.tally.mu.Unlock()
	w.tally.Unanswered++
	record(w.tally.Latency, now.Sub(due))
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
