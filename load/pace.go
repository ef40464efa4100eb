package load

import (
	"math"
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
	// As many as are due before the end, but for an error of rounding.
	count := int64(math.Ceil(r.plan.Rate*r.plan.Duration.Seconds() - 1e-6))
	for i := range count {
		due := time.Duration(float64(i) / r.plan.Rate * 1e9)
		for {
			wait := due - time.Since(r.start)
			if r.ctx.Err() != nil {
				return
			}
			if wait <= 0 {
				break
			}
			sleep(min(wait, 50*time.Millisecond)) // no more, so that it notices an interruption
		}
		select {
		case r.dues <- due:
		case <-r.ctx.Done():
			return
		}
	}
}
