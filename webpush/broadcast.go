package webpush

import (
	"context"
	"iter"
	"sync"
	"time"
)

const (
	tickTime = 250 * time.Millisecond

	// Requests to the services that KnownPushService knows and requests to all others have separate
	// limits, in multiples of the concurrency: a stranger's endpoint takes no room from a big
	// service.
	knownFactor   = 16
	unknownFactor = 4
)

// Broadcast sends msg to each of subs and yields the results, in the order in which answers come.
// subs is run as results are taken and never collected.
//
// No service delays the others. At most [Limits.Concurrency] requests to an origin are under way at
// once, and fewer while it throttles, fails or does not answer. A service that throttles or fails is
// paused for a time that doubles, up to as long as it asks. A refused message waits as long as was
// asked, the others for the pause. A message waits for a service that accepts nothing for
// [Limits.Patience]. Then its result is the last refusal, or [Deferred] if it was never sent.
//
// Every subscription is yielded exactly once. When ctx ends, no request starts any more, and the
// rest is yielded with the outcome [Canceled]. Requests under way are finished, within
// [Config.Timeout] each. To stop them too, leave the loop; their results are lost.
//
// subs runs in the goroutine that ranges over the results, and results are yielded between its
// elements: a sequence that blocks delays them, and a slow loop body slows the sending. When the
// loop has ended, the broadcast has no goroutine left. Hooks and transports are called in goroutines
// of its own: recover there from what may panic.
func (c *Client) Broadcast(ctx context.Context, subs iter.Seq[Subscription], msg []byte, opts Options) iter.Seq2[Subscription, Result] {
	return c.BroadcastIndexed(ctx, func(yield func(int64, Subscription) bool) {
		i := int64(0)
		for sub := range subs {
			if !yield(i, sub) {
				return
			}
			i++
		}
	}, msg, opts)
}

// BroadcastIndexed is [Client.Broadcast] with the caller's own numbers, such as a database's, in any
// order. [Result.Index] is the subscription's number.
func (c *Client) BroadcastIndexed(ctx context.Context, subs iter.Seq2[int64, Subscription], msg []byte, opts Options) iter.Seq2[Subscription, Result] {
	return func(yield func(Subscription, Result) bool) {
		b := broadcast{yield: yield, lanes: make(map[string]*lane)}
		b.crew = &crew{results: make(chan broadcastResult), left: make(chan struct{})}
		b.job = &job{client: c, msg: msg, opts: opts, patient: true}
		b.pools.known.max = knownFactor * c.cfg.Limits.Concurrency
		b.pools.unknown.max = unknownFactor * c.cfg.Limits.Concurrency

		var stop, cancel context.CancelFunc
		b.ctx, stop = context.WithCancel(ctx)
		b.requests, cancel = context.WithCancel(context.WithoutCancel(ctx))
		b.ticker = time.NewTicker(tickTime)
		defer b.close()
		defer close(b.crew.left)
		defer cancel()
		defer stop()
		defer b.ticker.Stop()
		b.run(subs)
	}
}

type broadcast struct {
	job      *job
	ctx      context.Context // while it lasts requests start
	requests context.Context // they may run on until it ends
	yield    func(Subscription, Result) bool

	lanes  map[string]*lane // by origin
	pools  pools
	crew   *crew
	ticker *time.Ticker

	ended   bool // there are no more subscriptions
	drained bool // ctx has ended, and the results of what waited were yielded
	pending int  // results to come
	stalled int  // messages that waited for silent or paused services at the last tick
}

func (b *broadcast) run(subs iter.Seq2[int64, Subscription]) {
	for index, sub := range subs {
		if !b.take(sub, index) {
			return
		}
	}
	b.ended = true
	for b.pending > 0 && b.wait() {
	}
}

// take queues a message, or yields its result at once.
func (b *broadcast) take(sub Subscription, index int64) bool {
	for b.pending >= b.job.client.cfg.Limits.Backlog {
		if !b.wait() {
			return false
		}
	}
	b.pending++
	if err := b.ctx.Err(); err != nil || sub.IsZero() { // perhaps ended while there was no room
		d := delivery{recipient: recipient{sub: sub}}
		if err != nil {
			return b.drain() && b.hand(sub, index, d.fail(Canceled, err))
		}
		return b.hand(sub, index, d.fail(Invalid, errNoSubscription))
	}
	l := b.lane(sub.Origin())
	if l.stalled && b.stalled >= b.job.client.cfg.Limits.Backlog/2 || l.refuses(time.Now()) {
		d := l.delivery(recipient{sub, index})
		return b.hand(sub, index, d.deferred(time.Now()))
	}
	l.add(recipient{sub, index})
	for {
		select {
		case r := <-b.crew.results:
			if !b.hand(r.sub, r.index, r.result) {
				return false
			}
		case <-b.ticker.C:
			if !b.tick() {
				return false
			}
		default:
			return true
		}
	}
}

func (b *broadcast) lane(name string) *lane {
	l, ok := b.lanes[name]
	if !ok {
		l = &lane{b: b, origin: b.job.client.origin(name), pool: b.pools.poolOf(name), window: window{size: 1}, progress: time.Now()}
		b.lanes[name] = l
	}
	return l
}

// wait waits for something to happen and deals with it.
func (b *broadcast) wait() bool {
	end := b.ctx.Done()
	if b.drained {
		end = nil // what is left are results of requests under way
	}
	select {
	case r := <-b.crew.results:
		return b.hand(r.sub, r.index, r.result)
	case <-b.ticker.C:
		return b.tick()
	case <-end:
		return b.drain()
	}
}

// drain yields everything that waits as canceled.
func (b *broadcast) drain() bool {
	if b.drained {
		return true
	}
	b.drained = true
	for _, l := range b.lanes {
		l.mu.Lock()
		taken := l.takeLocked(l.queue.pending())
		l.mu.Unlock()
		for _, d := range taken {
			if !b.hand(d.sub, d.index, d.fail(Canceled, b.ctx.Err())) {
				return false
			}
		}
	}
	return true
}

// tick checks the lanes, and yields the messages that they give up.
func (b *broadcast) tick() bool {
	now := time.Now()
	b.stalled = 0
	for name, l := range b.lanes {
		given := l.tick(now)
		l.mu.Lock()
		if l.stalled {
			b.stalled += l.queue.pending()
			if excess := b.stalled - b.job.client.cfg.Limits.Backlog/2; excess > 0 && b.pending >= b.job.client.cfg.Limits.Backlog {
				given = append(given, l.takeLocked(min(excess, l.queue.pending()))...)
				b.stalled -= excess
			}
		}
		idle := l.queue.pending() == 0 && l.workers.running == 0
		var held []*delivery
		if idle && (b.ended || b.pending >= b.job.client.cfg.Limits.Backlog) { // nothing can be learned of them any more
			held, l.queue.held = l.queue.held, nil
		}
		idle = idle && len(l.queue.held) == 0 && now.Sub(l.progress) > time.Minute
		l.mu.Unlock()
		for _, d := range held {
			if !b.hand(d.sub, d.index, d.settle(b.ctx, d.past.waiting)) {
				return false
			}
		}
		for _, d := range given {
			if !b.hand(d.sub, d.index, d.deferred(now)) {
				return false
			}
		}
		if idle {
			delete(b.lanes, name) // origins come from strangers: they may be many
		}
		l.kick()
	}
	return true
}

// close waits until nothing runs.
func (b *broadcast) close() {
	b.crew.close()
	for _, l := range b.lanes {
		l.mu.Lock()
		if l.timer != nil {
			l.timer.Stop()
		}
		l.mu.Unlock()
	}
	b.crew.workers.Wait()
}

func (b *broadcast) hand(sub Subscription, index int64, r Result) bool {
	b.pending--
	r.Index = index
	return b.yield(sub, r)
}

// A crew is a broadcast's workers, and what they hand to its loop.
type crew struct {
	results chan broadcastResult // no room: a worker's request is under way until its result is taken
	left    chan struct{}        // closed when nobody takes results any more
	workers sync.WaitGroup

	starting sync.Mutex // held while a worker starts
	closed   bool       // no worker starts any more
}

type broadcastResult struct {
	recipient
	result Result
}

// spawn runs f in a goroutine that the broadcast waits for, unless it has ended.
func (c *crew) spawn(f func()) bool {
	c.starting.Lock()
	defer c.starting.Unlock()
	if c.closed {
		return false
	}
	c.workers.Go(f)
	return true
}

// deliver hands a result from a worker to the loop, and reports whether anybody took it.
func (c *crew) deliver(to recipient, r Result) bool {
	select {
	case c.results <- broadcastResult{to, r}:
		return true
	case <-c.left:
		return false
	}
}

// close lets no worker start any more.
func (c *crew) close() {
	c.starting.Lock()
	c.closed = true
	c.starting.Unlock()
}
