package load

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"runtime"
	"time"
)

// pace hands out requests as they become due. It has a thread of its own that sleeps in the kernel:
// a Go timer may be a millisecond late when the process waits only in the network poller.
func (r *run) pace() {
	runtime.LockOSThread() // and never unlocked, because its timer slack is changed
	defer close(r.dues)
	sharpen()
	sleep := sleep
	if runtime.GOMAXPROCS(0) == 1 {
		sleep = time.Sleep // sleeping in the kernel would keep the only processor from the others
	}
	for due, ok := r.next(); ok; due, ok = r.next() {
		for {
			wait := due - time.Since(r.start)
			if r.ctx.Err() != nil {
				r.abandon(due)
				return
			}
			if wait <= 0 {
				break
			}
			sleep(min(wait, 50*time.Millisecond)) // no longer, so that it notices an interruption
		}
		select {
		case r.dues <- due:
			r.planned++
		case <-r.ctx.Done():
			r.abandon(due)
			return
		}
	}
}

// next returns when the next request is due, if there is one.
func (r *run) next() (time.Duration, bool) {
	if dues := r.plan.Dues; dues != nil {
		if r.planned == int64(len(dues)) {
			return 0, false
		}
		return dues[r.planned], true
	}
	if r.plan.Poisson {
		n := r.arrival
		r.arrival = r.arrive()
		return r.at(n), n < r.plan.Rate*r.plan.Duration.Seconds()
	}
	// All requests that are due before the end, except for a rounding error.
	n := r.plan.number(r.skipped + r.planned)
	return r.at(float64(n)), n < r.plan.requests()
}

// arrivals returns a function whose calls return when this worker's requests are due in a Poisson
// plan: after how many requests of all workers, on average. It depends on nothing but the plan, so
// that a worker's successor continues with the same requests, and others can count them.
// Independent Poisson processes together are one.
func (p *Plan) arrivals() func() float64 {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], p.Seed)
	binary.LittleEndian.PutUint64(key[8:], uint64(p.Worker))
	source, mean, at := rand.New(rand.NewChaCha8(key)), float64(max(1, p.Workers)), 0.0
	return func() float64 {
		at += mean * source.ExpFloat64()
		return at
	}
}

// skip leaves out requests that were due before the beginning.
func (r *run) skip(d time.Duration) {
	n := d.Seconds() * r.plan.Rate
	if len(r.plan.Stages) > 0 {
		n = planned(r.plan.Stages, d.Seconds())
	}
	for r.plan.Poisson && r.arrival < n {
		r.arrival = r.arrive()
	}
	r.skipped = max(0, int64(math.Ceil((n-float64(r.plan.Worker))/float64(max(1, r.plan.Workers)))))
}

// at returns the time before which n requests are due.
func (r *run) at(n float64) time.Duration {
	if len(r.plan.Stages) > 0 {
		return time.Duration(dueAfter(r.plan.Stages, n) * 1e9)
	}
	return time.Duration(n / r.plan.Rate * 1e9)
}

// abandon counts the requests, from one on, that are already due but could not be handed out before
// the interruption.
func (r *run) abandon(due time.Duration) {
	w := &Work{run: r, tally: r.tallies[0]}
	now := time.Now()
	for ok := true; ok && due <= now.Sub(r.start); due, ok = r.next() {
		w.giveUp(r.start.Add(due), now)
		r.planned++
	}
}
