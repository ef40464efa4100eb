package load

import (
	"context"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Work is one line's share of a plan. Take and Try may be called at any time, Done by
// one goroutine at a time.
type Work struct {
	run *run

	taking sync.Mutex // guards late
	late   *hdrhistogram.Histogram

	latency *hdrhistogram.Histogram
	errors  map[string]int64
	ended   time.Time
}

func newWork(r *run) *Work {
	return &Work{
		run:     r,
		latency: hdrhistogram.New(1000, slowest.Nanoseconds(), 3),
		late:    hdrhistogram.New(1000, slowest.Nanoseconds(), 3),
		errors:  map[string]int64{},
		ended:   r.start,
	}
}

func record(h *hdrhistogram.Histogram, d time.Duration) {
	_ = h.RecordValue(min(max(1, d.Nanoseconds()), slowest.Nanoseconds()))
}

// Take waits until a request is due and says when that was, or that there are no more.
// The line has had room for it since free, or before.
func (w *Work) Take(free time.Time) (due time.Time, ok bool) {
	if w.run.plan.Rate == 0 {
		return w.Try(time.Now(), free)
	}
	offset, ok := <-w.run.dues
	return w.taken(offset, ok, time.Now(), free)
}

// Try takes a request if one is due now.
func (w *Work) Try(now, free time.Time) (due time.Time, ok bool) {
	if w.run.plan.Rate == 0 {
		return now, now.Before(w.run.end) && w.run.ctx.Err() == nil
	}
	select {
	case offset, ok := <-w.run.dues:
		return w.taken(offset, ok, now, free)
	default:
		return time.Time{}, false
	}
}

func (w *Work) taken(offset time.Duration, ok bool, now, free time.Time) (time.Time, bool) {
	if !ok || w.run.ctx.Err() != nil {
		return time.Time{}, false
	}
	due := w.run.start.Add(offset)
	ready := due
	if free.After(due) {
		ready = free
	}
	w.taking.Lock()
	defer w.taking.Unlock()
	record(w.late, now.Sub(ready))
	return due, true
}

// Done tells what came of a request that was due at a time, and when.
func (w *Work) Done(due, now time.Time, err error) {
	if w.run.requests.Err() != nil {
		if err = context.Cause(w.run.requests); err != errNoAnswer {
			return // interrupted, and so neither a success nor a failure
		}
	}
	w.ended = now
	record(w.latency, now.Sub(due))
	if err != nil {
		w.errors[reason(err)]++
	}
}
