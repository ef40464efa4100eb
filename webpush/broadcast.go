package webpush

import (
	"context"
	"iter"
	"sync"
)

// waitingFactor times the concurrency is how many messages of a broadcast may
// be under way or waiting to be tried again.
const waitingFactor = 4

// Broadcast sends msg to each of subs and yields what became of it, in the
// order in which answers come. At most [Config.Concurrency] requests are under
// way at once; a message that waits to be tried again does not count.
//
// Every subscription is yielded exactly once. When ctx ends, requests under way
// are stopped, and the subscriptions that were not sent to yet, the rest of subs
// included, are yielded with the outcome [Canceled]; for those that were,
// [SendError.MaybeSent] says whether the message may have arrived. If the loop
// over the results is left early, requests under way are stopped and their
// results are lost.
//
// subs is run by the goroutine that ranges over the results, and results are
// handed over between its elements: a sequence that blocks holds them up.
// Nothing runs any more when the loop has ended.
func (c *Client) Broadcast(ctx context.Context, subs iter.Seq[Subscription], msg []byte, opts Options) iter.Seq2[Subscription, Result] {
	return func(yield func(Subscription, Result) bool) {
		b := broadcast{client: c, msg: msg, opts: opts, gate: make(chan struct{}, c.concurrency), doors: newDoors()}
		b.limit = waitingFactor * c.concurrency
		b.jobs = make(chan Subscription)
		b.results = make(chan broadcastResult, b.limit) // room for all: workers never block
		b.sealer, b.err = c.sealer.ForBroadcast()

		var cancel context.CancelFunc
		b.ctx, cancel = context.WithCancel(ctx)
		defer b.workers.Wait()
		defer close(b.jobs)
		defer cancel()
		b.run(subs, yield)
	}
}

type broadcastResult struct {
	sub    Subscription
	result Result
}

type broadcast struct {
	client *Client
	sealer *Sealer
	err    error // why nothing can be sealed
	ctx    context.Context
	msg    []byte
	opts   Options

	gate    chan struct{}
	doors   *doors
	jobs    chan Subscription
	results chan broadcastResult
	workers sync.WaitGroup
	started int // workers
	pending int // results to come
	limit   int // of either
}

func (b *broadcast) run(subs iter.Seq[Subscription], yield func(Subscription, Result) bool) {
	for sub := range subs {
		if err := b.ctx.Err(); err != nil || b.err != nil {
			if !yield(sub, b.unsent(sub, err)) {
				return
			}
			continue
		}
		for b.pending >= b.limit {
			if !b.hand(<-b.results, yield) {
				return
			}
		}
		b.dispatch(sub)
		if !b.handReady(yield) {
			return
		}
	}
	for b.pending > 0 {
		if !b.hand(<-b.results, yield) {
			return
		}
	}
}

// unsent is the result for a subscription that nothing was sent to.
func (b *broadcast) unsent(sub Subscription, ctxErr error) Result {
	d := delivery{client: b.client, sub: sub}
	if ctxErr != nil {
		return d.fail(Canceled, ctxErr)
	}
	return d.fail(Invalid, b.err)
}

// dispatch gives sub to a waiting worker, or to a new one.
func (b *broadcast) dispatch(sub Subscription) {
	b.pending++
	select {
	case b.jobs <- sub:
		return
	default:
	}
	if b.started == b.limit {
		b.jobs <- sub // fewer are pending than there are workers: one is about to take it
		return
	}
	b.started++
	b.workers.Go(func() {
		b.work(sub)
		for sub := range b.jobs {
			b.work(sub)
		}
	})
}

func (b *broadcast) work(sub Subscription) {
	d := delivery{client: b.client, sealer: b.sealer, sub: sub, msg: b.msg, opts: &b.opts, gate: b.gate, doors: b.doors}
	b.results <- broadcastResult{sub, d.run(b.ctx)}
}

// handReady hands over the results that are there.
func (b *broadcast) handReady(yield func(Subscription, Result) bool) bool {
	for {
		select {
		case r := <-b.results:
			if !b.hand(r, yield) {
				return false
			}
		default:
			return true
		}
	}
}

func (b *broadcast) hand(r broadcastResult, yield func(Subscription, Result) bool) bool {
	b.pending--
	return yield(r.sub, r.result)
}
