package load

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// An Interval has the answers that came in a part of a run, whenever their requests were sent.
type Interval struct {
	From, To time.Duration // its begin and end, counted from the beginning of the run
	Done     int64         // answers, errors included
	Failed   int64
	// Latency is in microseconds, unlike Result.Latency. It is valid until the next interval.
	Latency *hdrhistogram.Histogram
	// Statuses and Errors count from the beginning of the run.
	Statuses map[int]int64
	Errors   map[string]int64
	// Paused is how long the generator did not run. Latencies may be longer by that.
	Paused time.Duration
}

// done counts an answer, if there are intervals.
func (i *Interval) done(d time.Duration, err error) {
	if i.Latency == nil {
		return
	}
	_ = i.Latency.RecordValue(min(max(1, d.Microseconds()), slowest.Microseconds()))
	if err != nil {
		i.Failed++
	}
}

// tellIntervals calls Told after each interval. stop tells the last one.
func (r *run) tellIntervals() (stop func()) {
	if r.plan.Every == 0 || r.plan.Told == nil {
		return func() {}
	}
	for _, t := range r.tallies {
		t.interval.Latency = newMicroseconds()
	}
	sum := newMicroseconds()
	var from time.Duration
	tell := func() {
		to := time.Since(r.start)
		in := Interval{From: from, To: to, Latency: sum, Statuses: map[int]int64{}, Errors: map[string]int64{}}
		sum.Reset()
		for _, t := range r.tallies {
			t.mu.Lock()
			sum.Merge(t.interval.Latency)
			t.interval.Latency.Reset()
			in.Paused = max(in.Paused, t.interval.Paused)
			in.Failed += t.interval.Failed
			t.interval = Interval{Latency: t.interval.Latency}
			for status, n := range t.counts.Statuses {
				in.Statuses[status] += n
			}
			for why, n := range t.counts.Errors {
				in.Errors[why] += n
			}
			t.mu.Unlock()
		}
		in.Done = sum.TotalCount()
		r.plan.Told(in)
		from = to
	}
	end := every(r.plan.Every, tell)
	return func() {
		end()
		tell()
	}
}
