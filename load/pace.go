package load

import (
	"math"
	"math/rand/v2"
	"runtime"
	"time"
)

// pace hands out requests as they become due. It has a thread of its own that sleeps in
// the kernel: a timer of Go's may be a millisecond late where the network poller is all
// that a process waits in.
func (r *run) pace() {
	runtime.LockOSThread() // and never unlocked: its timer slack is changed
	defer close(r.dues)
	sharpen()
	sleep := sleep
	if runtime.GOMAXPROCS(0) == 1 {
		sleep = time.Sleep // in the kernel it would keep the only processor from the others
	}
	for due, ok := r.next(0); ok; due, ok = r.next(due) {
		for {
			wait := due - time.Since(r.start)
			if r.ctx.Err() != nil {
				r.abandon(due)
				return
			}
			if wait <= 0 {
				break
			}
			sleep(min(wait, 50*time.Millisecond)) // no more, so that it notices an interruption
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

// next is when the request after that of due is due, if there is one.
func (r *run) next(due time.Duration) (time.Duration, bool) {
	interval := 1e9 / r.plan.Rate
	if r.plan.Poisson {
		due += time.Duration(rand.ExpFloat64() * interval)
		return due, due < r.plan.Duration
	}
	// As many as are due before the end, but for an error of rounding.
	count := int64(math.Ceil(r.plan.Rate*r.plan.Duration.Seconds() - 1e-6))
	return time.Duration(float64(r.planned) * interval), r.planned < count
}

// abandon counts the requests that are due by now, from one on, and could not be handed out
// before the interruption.
func (r *run) abandon(due time.Duration) {
	w := &Work{run: r, tally: r.tallies[0]}
	now := time.Now()
	for ok := true; ok && due <= now.Sub(r.start); due, ok = r.next(due) {
		w.giveUp(r.start.Add(due), now)
		r.planned++
	}
}
