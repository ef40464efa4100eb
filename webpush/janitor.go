package webpush

import (
	"sync"
	"time"
)

// maxSweepInterval is how long an unused key may stay in memory after its ttl.
const maxSweepInterval = 15 * time.Second

// A janitor runs sweep from time to time in a goroutine of its own, so that a
// key's life ends even if nothing is sent any more.
type janitor struct {
	done chan struct{}
	once sync.Once
	wg   sync.WaitGroup
}

func startJanitor(ttl time.Duration, sweep func()) *janitor {
	j := &janitor{done: make(chan struct{})}
	j.wg.Go(func() {
		ticker := time.NewTicker(min(max(ttl/4, 50*time.Millisecond), maxSweepInterval))
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				sweep()
			case <-j.done:
				return
			}
		}
	})
	return j
}

// stop ends the goroutine and waits for it.
func (j *janitor) stop() {
	j.once.Do(func() { close(j.done) })
	j.wg.Wait()
}
