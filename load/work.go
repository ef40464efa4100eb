package load

import (
	"context"
	"errors"
	"syscall"
	"time"
)

// Work is one line's share of a plan. Its methods may be called concurrently.
type Work struct {
	run   *run
	tally *tally
}

// A timing is when a request was due and when it was sent. Since charged it has waited for the server
// alone: since it was due, unless the generator made it wait.
type timing struct {
	due, sent, charged time.Time
	begins             time.Duration // from sent to the first of the answer, 0 if nothing has come
}

// take waits until a request is due and returns that time, or false if there are no more. The line
// has had room for it at least since free.
func (w *Work) take(free time.Time) (t timing, ok bool) {
	w.run.turn <- struct{}{} // one line waits for the next request, the others for their turn
	defer func() { <-w.run.turn }()
	due, ok := w.claim(time.Now())
	if !ok {
		return timing{due: due}, false
	}
	if w.run.paced() && !w.run.await(due) && due.After(time.Now()) {
		w.unclaim()
		return timing{due: due}, false
	}
	now := time.Now()
	t = timing{due: due, sent: now, charged: w.run.pulse.charge(due, now, free)}
	return t, w.sent(t)
}

// claim reserves the next request for a line that waits itself until it is due, and returns that
// time. The line then calls sent or unclaim. Without a rate a request is due now.
func (w *Work) claim(now time.Time) (due time.Time, ok bool) {
	r := w.run
	if r.ctx.Err() != nil || r.requests.Err() != nil {
		return time.Time{}, false
	}
	if !r.paced() && r.plan.Most == 0 { // a lock would cost a twentieth of a request by HTTP/2
		return now, now.Before(r.end)
	}
	r.pacing.Lock()
	defer r.pacing.Unlock()
	if !r.paced() {
		r.pacing.planned++
		return now, now.Before(r.end) && r.pacing.planned <= r.plan.Most
	}
	offset, ok := r.pacing.arrive()
	if ok {
		r.pacing.planned++
	}
	return r.start.Add(offset), ok
}

// unclaim gives back a claimed request that was not due before the run was interrupted.
func (w *Work) unclaim() {
	w.run.pacing.Lock()
	defer w.run.pacing.Unlock()
	w.run.pacing.planned--
}

// sent counts a request that is sent now. It returns false if the request must not be sent.
func (w *Work) sent(t timing) (ok bool) {
	if !w.run.paced() {
		return true
	}
	if w.run.ctx.Err() != nil {
		w.notSent(t.due, t.sent, "")
		return false
	}
	w.tally.mu.Lock()
	defer w.tally.mu.Unlock()
	w.tally.counts.Account.Begun++
	// Shortfall is about the server and the connections: it leaves out for how long the generator
	// made the request wait, and tolerates a hundredth of the plan.
	ready := t.sent.Add(-t.charged.Sub(t.due))
	if ready.Sub(w.run.end) <= w.run.end.Sub(w.run.start)/100 {
		w.tally.counts.Account.SentOnTime++
	}
	return true
}

// paused counts how long the line did not run.
func (w *Work) paused(missed time.Duration) {
	w.tally.mu.Lock()
	defer w.tally.mu.Unlock()
	w.tally.counts.Paused += missed
	w.tally.interval.Paused += missed
}

// done counts the outcome of a request: its status (0 if there was no answer), and the error if it
// was not a success. Its answer was read now, and may have come at the earliest time on.
func (w *Work) done(t timing, now, earliest time.Time, status int, err error) {
	if w.run.requests.Err() != nil {
		if err = context.Cause(w.run.requests); err != errNoAnswer {
			w.giveUp(t, now)
			return
		}
		status = 0 // an answer that comes now is not counted as one
	}
	if err != nil && status == 0 {
		if why := ownLimit(err); why != "" {
			w.notSent(t.due, now, why)
			return
		}
	}
	w.tally.mu.Lock()
	defer w.tally.mu.Unlock()
	w.tally.counts.done(t, now, earliest, status, err)
	w.tally.interval.done(now.Sub(t.due), err)
}

// ownLimit returns which limit of the generator's machine an error is, and what to do; "" for the
// server's errors.
func ownLimit(err error) string {
	switch {
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "no local port is free (have the server keep connections, or widen net.ipv4.ip_local_port_range)"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "too many files are open (raise ulimit -n, or give fewer --conns)"
	case errors.Is(err, syscall.ENOBUFS), errors.Is(err, syscall.ENOMEM):
		return "the kernel has no memory for another socket (give fewer --conns)"
	}
	return ""
}

// message counts a message of a stream that was sent or came, and its latency, 0 if it has none.
func (w *Work) message(sent bool, latency time.Duration) {
	w.tally.mu.Lock()
	defer w.tally.mu.Unlock()
	m := &w.tally.counts.Messages
	if sent {
		m.Sent++
	} else {
		m.Received++
	}
	if latency > 0 {
		if m.Latency.Histogram == nil {
			m.Latency = newLatencies()
		}
		record(m.Latency, latency)
	}
}

// giveUp counts a request that had no answer when the plan was interrupted. It is neither a success
// nor a failure. Its latency so far counts; otherwise a server that stalled would not show.
func (w *Work) giveUp(t timing, now time.Time) {
	w.tally.mu.Lock()
	defer w.tally.mu.Unlock()
	w.tally.counts.Account.Unanswered++
	w.tally.counts.unbounded(now.Sub(t.charged))
}

// notSent counts a request that was due and was not sent, because of a limit of the generator's
// machine, or with "" because all connections were busy.
func (w *Work) notSent(due, now time.Time, limit string) {
	w.tally.mu.Lock()
	defer w.tally.mu.Unlock()
	if limit != "" {
		w.tally.counts.Account.Limits[limit]++
	}
	w.tally.counts.Account.NotSent++
	w.tally.counts.unbounded(now.Sub(due))
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
