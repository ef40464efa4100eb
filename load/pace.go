package load

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"time"
)

// A Pacer says when requests are due.
type Pacer interface {
	// Due returns when request n is due, from 0 on, counted from the start. n may lie between two
	// requests.
	Due(n float64) time.Duration
	// Span returns how many requests are due, and in what time.
	Span() (requests float64, lasts time.Duration)
}

var _ = []Pacer{Constant{}, Times{}}

// Constant is a constant rate. At a rate of 0 the lines send as many requests as they can.
type Constant struct {
	Rate float64 // requests a second
	For  time.Duration
}

// Due implements Pacer.
func (c Constant) Due(n float64) time.Duration { return time.Duration(n / c.Rate * 1e9) }

// Span implements Pacer.
func (c Constant) Span() (requests float64, lasts time.Duration) {
	return c.Rate * c.For.Seconds(), c.For
}

// Times says when each request is due, counted from the start and in order.
type Times struct {
	At  []time.Duration
	For time.Duration
}

// Due implements Pacer.
func (t Times) Due(n float64) time.Duration { return t.At[int(n)] }

// Span implements Pacer.
func (t Times) Span() (requests float64, lasts time.Duration) { return float64(len(t.At)), t.For }

// rate is the mean rate of a pacer, 0 for none.
func rate(p Pacer) float64 {
	requests, lasts := p.Span()
	return requests / lasts.Seconds()
}

func checkPacer(p Pacer) error {
	if p == nil {
		return errors.New("load: a plan needs a pacer")
	}
	switch requests, lasts := p.Span(); {
	case !(requests >= 0) || lasts <= 0:
		return errors.New("load: a plan needs a rate of at least 0, and has to last")
	case requests > 0 && p.Due(max(0, requests-1)) >= lasts:
		return errors.New("load: the last request has to be due before the plan ends")
	}
	return nil
}

// arrivals returns a function that returns, call by call, when this worker's requests are due, and
// false after the last. It depends on the plan alone: a worker's successor continues with the same
// requests, and others can count them.
func (p *Plan) arrivals() func() (due time.Duration, ok bool) {
	requests, _ := p.Pacer.Span()
	if !p.Poisson {
		most, next := int64(math.Ceil(requests-1e-6)), int64(p.Worker) // all before the end, but for a rounding error
		return func() (time.Duration, bool) {
			n := next
			if n >= most {
				return 0, false
			}
			next += int64(max(1, p.Workers))
			return p.Pacer.Due(float64(n)), true
		}
	}
	// Independent Poisson processes together are one.
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], p.Seed)
	binary.LittleEndian.PutUint64(key[8:], uint64(p.Worker))
	source, mean, at := rand.New(rand.NewChaCha8(key)), float64(max(1, p.Workers)), 0.0
	return func() (time.Duration, bool) {
		if at += mean * source.ExpFloat64(); at >= requests {
			return 0, false
		}
		return p.Pacer.Due(at), true
	}
}

// requests returns how many requests are due in all.
func (p *Plan) requests() int64 {
	requests, _ := p.Pacer.Span()
	if !p.Poisson {
		return int64(math.Ceil(requests - 1e-6))
	}
	var n int64
	for i := range max(1, p.Workers) {
		share := *p
		share.Worker = i
		next := share.arrivals()
		for _, ok := next(); ok; _, ok = next() {
			n++
		}
	}
	return n
}

// await waits until a time, and reports whether the run goes on. It sleeps in the kernel: a Go
// timer may be a millisecond late when the process waits only in the network poller.
func (r *run) await(due time.Time) bool {
	if time.Until(due) <= 0 {
		return r.ctx.Err() == nil
	}
	sleep := sleep
	if runtime.GOMAXPROCS(0) == 1 {
		sleep = time.Sleep // sleeping in the kernel would keep the only processor from the others
	} else {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		slack(1)
		defer slack(0)
	}
	for r.ctx.Err() == nil {
		wait := time.Until(due)
		if wait <= 0 {
			return true
		}
		sleep(min(wait, 50*time.Millisecond)) // no longer, so that it notices an interruption
	}
	return false
}
