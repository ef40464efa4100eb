package webpush

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// stallTime is how long a service may leave every request unanswered before others may use its
// places.
const stallTime = 2 * time.Second

// A lane is a broadcast's messages to one origin: those waiting, and a window of requests under
// way. The window starts at one, so that the first message opens the connection that the others
// share, grows by one with every answer, up to [Limits.Concurrency], and halves when the service
// throttles, fails or is silent. A service that never answers therefore holds one request, not all.
type lane struct {
	b      *broadcast
	origin *origin
	pool   *pool

	mu       sync.Mutex
	queue    queue
	window   window
	workers  workers
	progress time.Time // when the service last took a message, or was given one after it had none
	nextSend time.Time // with a rate
	timer    *time.Timer
	stalled  bool // as of the last tick
	inPool   bool // waits for room in the pool; guarded by the pool's lock
}

// window is how many requests may be under way.
type window struct {
	size int
	cut  time.Time // when it was last halved
}

// workers are how many send requests. Those lent no longer count in the pool.
type workers struct{ running, lent int }

// A queue has the messages that wait.
type queue struct {
	fresh bag
	late  []*delivery // tried before, to be tried again; the first next
	held  []*delivery // refused, and to be believed once the origin takes a message that is sent later
}

func (q *queue) pending() int { return len(q.fresh) + len(q.late) }

// delivery is a message to a recipient of the lane.
func (l *lane) delivery(to recipient) delivery {
	return delivery{job: l.b.job, recipient: to, origin: l.origin}
}

// A bag gives what it holds in no order: neighbours in a list of subscriptions are often alike,
// made on one day with one key, so that in its order a service would refuse many in a row.
type bag []recipient

func (b *bag) take() recipient {
	all := *b
	i, last := rand.IntN(len(all)), len(all)-1
	taken := all[i]
	all[i] = all[last]
	all[last] = recipient{}
	if *b = all[:last]; last == 0 {
		*b = nil
	}
	return taken
}

// pushLate queues a delivery to be tried again, behind the ones whose time comes before.
func (q *queue) pushLate(d *delivery) {
	i, _ := slices.BinarySearchFunc(q.late, d, func(a, b *delivery) int { return a.past.notBefore.Compare(b.past.notBefore) })
	q.late = slices.Insert(q.late, i, d)
}

// add queues a message.
func (l *lane) add(w recipient) {
	l.mu.Lock()
	if l.queue.pending() == 0 && l.workers.running == 0 {
		l.progress = time.Now()
	}
	l.queue.fresh = append(l.queue.fresh, w)
	l.startLocked()
	l.mu.Unlock()
}

// kick starts the workers that there is work and room for.
func (l *lane) kick() {
	l.mu.Lock()
	l.startLocked()
	l.mu.Unlock()
}

func (l *lane) startLocked() {
	if l.workers.running >= l.window.size || l.queue.pending() == 0 || l.b.ctx.Err() != nil {
		return
	}
	now := time.Now()
	for ready := l.dueOrWaitLocked(now); ready > 0 && l.workers.running < l.window.size && l.pool.acquire(l); ready-- {
		if !l.b.crew.spawn(l.work) {
			l.pool.release(false)
			return
		}
		l.workers.running++
	}
}

// dueOrWaitLocked returns how many messages may be sent now. If none may, it sets the timer for the
// time when one may.
func (l *lane) dueOrWaitLocked(now time.Time) int {
	if left := l.origin.pause(now); left > 0 {
		l.window.size = 1 // after it, one message goes first
		l.kickAfterLocked(left)
		return 0
	}
	if left := l.nextSend.Sub(now); left > 0 {
		l.kickAfterLocked(left)
		return 0
	}
	n := len(l.queue.fresh)
	for _, d := range l.queue.late {
		if n >= l.window.size || d.past.notBefore.After(now) {
			break
		}
		n++
	}
	if n == 0 && len(l.queue.late) > 0 {
		l.kickAfterLocked(l.queue.late[0].past.notBefore.Sub(now))
	}
	return n
}

// kickAfterLocked has the timer kick the lane.
func (l *lane) kickAfterLocked(wait time.Duration) {
	wait = max(wait, time.Millisecond)
	if l.timer == nil {
		l.timer = time.AfterFunc(wait, l.kick)
		return
	}
	l.timer.Reset(wait)
}

// work sends one message after the other for as long as it may.
func (l *lane) work() {
	limit := newTimeLimit(l.b.requests)
	defer limit.end()
	var free *delivery // one that is done with
	for {
		d := l.next(free)
		if d == nil {
			return
		}
		d.limit = limit
		r, wait, done := d.step(l.b.requests)
		if free = nil; done && !d.isDoubtful() {
			free = d
		}
		if !l.took(d, r, wait, done) {
			return
		}
	}
}

// next takes the message to be sent now, or ends the worker. free is nil or a delivery
// to be used for it.
func (l *lane) next(free *delivery) *delivery {
	l.mu.Lock()
	now := time.Now()
	if l.b.ctx.Err() != nil || l.workers.running > l.window.size || l.dueOrWaitLocked(now) == 0 || l.workers.running > 1 && l.pool.contended() {
		l.leaveAndUnlock()
		return nil
	}
	if rate := l.b.job.client.cfg.Limits.Rate; rate > 0 {
		l.nextSend = later(l.nextSend, now.Add(-50*time.Millisecond)).Add(time.Duration(float64(time.Second) / rate))
	}
	defer l.mu.Unlock()
	if len(l.queue.fresh) > 0 && l.origin.inDoubt() {
		// not one that was refused before
	} else if len(l.queue.late) > 0 && !l.queue.late[0].past.notBefore.After(now) {
		d := l.queue.late[0]
		l.queue.late[0], l.queue.late = nil, l.queue.late[1:]
		return d
	} else if len(l.queue.fresh) == 0 { // impossible: something is due
		return nil
	}
	if free == nil {
		free = new(delivery)
	}
	*free = l.delivery(l.queue.fresh.take())
	return free
}

// leaveAndUnlock ends a worker of the locked lane.
func (l *lane) leaveAndUnlock() {
	l.workers.running--
	lent := l.workers.lent > 0
	if lent {
		l.workers.lent--
	}
	l.mu.Unlock()
	l.pool.release(lent)
}

// took notes the outcome of an attempt, and delivers the result or queues the message again.
// It reports whether the worker may go on.
func (l *lane) took(d *delivery, r Result, wait time.Duration, done bool) bool {
	now := time.Now()
	var believed []*delivery
	l.mu.Lock()
	switch d.past.last {
	case Canceled, Invalid, Failed:
	case Unreachable, Unavailable, RateLimited:
		if d.past.sentAt.After(l.window.cut) && (d.past.last != RateLimited || l.origin.inDoubt()) { // not for a single device
			l.window.size, l.window.cut = max(l.window.size/2, 1), now
		}
	default:
		if !l.origin.isSuspect() {
			l.progress = now
			l.window.size = min(l.window.size+1, l.b.job.client.cfg.Limits.Concurrency)
			if d.past.last == Accepted && len(l.queue.held) > 0 {
				believed = l.believeLocked(d.past.sentAt)
			}
		}
	}
	held := done && d.isDoubtful()
	if held {
		d.past.notBefore, d.past.waiting = now, r
		l.queue.held = append(l.queue.held, d)
	}
	if err := l.b.ctx.Err(); err != nil && (!done || d.past.last == Unreachable) {
		r, done = d.fail(Canceled, err), true
	}
	if !done {
		d.past.notBefore, d.past.waiting = now.Add(wait), r
		l.queue.pushLate(d)
	}
	lent := l.workers.lent > 0
	l.mu.Unlock()
	taken := !done || held || l.b.crew.deliver(d.recipient, d.settle(l.b.requests, r))
	for _, h := range believed {
		taken = taken && l.b.crew.deliver(h.recipient, h.settle(l.b.requests, h.past.waiting))
	}
	if !taken || lent {
		l.mu.Lock()
		l.leaveAndUnlock()
		l.kick()
		return false
	}
	l.kick()
	return true
}

// believeLocked takes out the held deliveries that were refused before the origin took a message
// that was sent at sentAt. Some are asked again instead.
func (l *lane) believeLocked(sentAt time.Time) (believed []*delivery) {
	l.queue.held = slices.DeleteFunc(l.queue.held, func(d *delivery) bool {
		switch {
		case l.origin.isToBeAskedAgain(d):
			d.past.again, d.past.tries = true, 0
			l.queue.pushLate(d)
		case d.past.notBefore.Before(sentAt):
			believed = append(believed, d)
		default:
			return false
		}
		return true
	})
	return believed
}

// tick checks whether the lane is stalled, and whether waiting is still useful. It returns the
// messages that are not to wait any longer.
func (l *lane) tick(now time.Time) (given []*delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	busy := l.workers.running > 0 || l.queue.pending() > 0
	l.stalled = busy && (l.origin.pause(now) > 0 || now.Sub(l.progress) > stallTime)
	if l.stalled && l.workers.running > l.workers.lent {
		l.workers.lent += l.pool.lend(l.workers.running - l.workers.lent)
	}
	if l.hopelessLocked(now) {
		return l.takeLocked(l.queue.pending())
	}
	end := now.Add(l.origin.pause(now))
	l.queue.late = slices.DeleteFunc(l.queue.late, func(d *delivery) bool {
		expired := d.left(end) <= 0
		if expired {
			given = append(given, d)
		}
		return expired
	})
	return given
}

// hopelessLocked reports whether messages should not wait for this service: it is
// paused for longer than they may wait, or has been silent for too long.
func (l *lane) hopelessLocked(now time.Time) bool {
	patience := l.b.job.client.cfg.Limits.Patience
	left := l.origin.pause(now)
	if left > 0 && left > min(patience, l.b.job.opts.ttl()) {
		return true
	}
	return l.queue.pending() > 0 && now.Sub(l.progress) > patience
}

// refuses reports whether a new message should not even queue.
func (l *lane) refuses(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hopelessLocked(now)
}

// takeLocked takes up to n messages out of the queue, the last first.
func (l *lane) takeLocked(n int) (taken []*delivery) {
	for range n {
		if len(l.queue.fresh) > 0 {
			d := l.delivery(l.queue.fresh.take())
			taken = append(taken, &d)
		} else if k := len(l.queue.late); k > 0 {
			taken = append(taken, l.queue.late[k-1])
			l.queue.late = l.queue.late[:k-1]
		}
	}
	return taken
}

// A pool bounds the requests under way to the origins that share it.
type pool struct {
	mu      sync.Mutex
	max     int
	used    int
	lent    int
	waiting []*lane
}

// pools keep the services that [KnownPushService] knows apart from all others.
type pools struct{ known, unknown pool }

func (p *pools) poolOf(origin string) *pool {
	if KnownPushService(origin) {
		return &p.known
	}
	return &p.unknown
}

func (p *pool) acquire(l *lane) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.used < p.max {
		p.used++
		return true
	}
	if !l.inPool {
		l.inPool = true
		p.waiting = append(p.waiting, l)
	}
	return false
}

func (p *pool) contended() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting) > 0
}

// release gives a place back and wakes the lane that has waited longest.
func (p *pool) release(lent bool) {
	p.mu.Lock()
	if lent {
		p.lent--
	} else {
		p.used--
	}
	p.unlockAndWake()
}

// lend frees up to n places whose requests get no answer, so that others can be
// made, and reports how many.
func (p *pool) lend(n int) int {
	p.mu.Lock()
	n = max(min(n, 4*p.max-p.lent), 0)
	p.lent += n
	p.used -= n
	p.unlockAndWake()
	return n
}

// unlockAndWake unlocks the pool and wakes as many waiting lanes as there is room for.
func (p *pool) unlockAndWake() {
	n := min(max(p.max-p.used, 0), len(p.waiting))
	woken := append([]*lane(nil), p.waiting[:n]...)
	p.waiting = append(p.waiting[:0], p.waiting[n:]...)
	for _, l := range woken {
		l.inPool = false
	}
	p.mu.Unlock()
	for _, l := range woken {
		l.b.crew.spawn(l.kick) // not here: the caller may hold another lane
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
