package load

import (
	"context"
	"runtime"
	"time"
)

// pace hands out requests as they become due. It has a thread of its own that sleeps in
// the kernel: a timer of Go's may be a millisecond late where the network poller is all
// that a process waits in.
func (r *run) pace(ctx context.Context) {
	runtime.LockOSThread() // and never unlocked: its timer slack is changed
	defer close(r.dues)
	sharpen()
	last := int64(r.plan.Rate * r.plan.Duration.Seconds())
	for i := range last {
		due := time.Duration(float64(i) / r.plan.Rate * 1e9)
		for {
			wait := due - time.Since(r.start)
			if ctx.Err() != nil {
				return
			}
			if wait <= 0 {
				break
			}
			sleep(min(wait, 50*time.Millisecond)) // no more, so that it notices ctx
		}
		select {
		case r.dues <- due:
		case <-ctx.Done():
			return
		}
	}
}
