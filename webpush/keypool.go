package webpush

import (
	"sync"
	"time"
)

// A keyPool makes key pairs ahead of time. Each is used once.
type keyPool struct {
	keys chan *localKey
	done chan struct{}
	once sync.Once
	wg   sync.WaitGroup
}

func newKeyPool(n int) *keyPool {
	p := &keyPool{keys: make(chan *localKey, n), done: make(chan struct{})}
	p.wg.Go(p.fill)
	return p
}

// fill makes keys until the pool is full, waits for one to be taken, and ends when the pool is
// closed. If the system's random generator fails, it ends too, and senders make their own keys and
// see the error.
func (p *keyPool) fill() {
	for {
		key, err := newLocalKey()
		if err != nil {
			return
		}
		select {
		case p.keys <- key:
		case <-p.done:
			return
		}
	}
}

func (p *keyPool) agree(s *schedule, sub Subscription, now time.Time) error {
	select {
	case key := <-p.keys:
		return key.agree(s, sub)
	default: // the pool is empty: senders do not wait for it
		return freshKeys{}.agree(s, sub, now)
	}
}

// close stops the goroutine, waits for it, and forgets the unused keys.
func (p *keyPool) close() {
	p.once.Do(func() { close(p.done) })
	p.wg.Wait()
	for {
		select {
		case <-p.keys:
		default:
			return
		}
	}
}
