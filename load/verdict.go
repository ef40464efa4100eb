package load

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// tolerated is how late the generator may be, because timers are no better.
const tolerated = time.Millisecond

// Invalid returns why the latencies are the generator's own, "" if they are the server's.
func (r *Result) Invalid() string {
	if r.Done == 0 {
		return "no request was answered"
	}
	if r.fault != "" {
		return r.fault
	}
	for _, why := range slices.Sorted(maps.Keys(r.Account.Limits)) {
		return fmt.Sprintf("the generator was the limit: %d requests were not sent, as %s", r.Account.Limits[why], why)
	}
	if busy := r.Busy(); busy > 0.9 {
		return fmt.Sprintf("the generator was the limit: its %d processors were %.0f%% busy", r.Processors, busy*100)
	}
	if r.Rate == 0 {
		return ""
	}
	if r.overloaded() {
		return r.Shortfall() + ". Latencies are then of a queue that grows as long as the run lasts"
	}
	return ""
}

// overloaded reports whether more requests came due than could be sent, which is not the
// generator's fault.
func (r *Result) overloaded() bool { return r.late(r.Planned - r.unreported) }

// late reports whether more than a hundredth of the requests that were due were not sent on time.
// When a run is interrupted, one may just have become due.
func (r *Result) late(due int64) bool {
	missing := due - r.Account.SentOnTime
	return r.Rate > 0 && float64(missing) > 0.01*float64(due) && (missing > 1 || !r.Interrupted)
}

// Between returns the least and the most that a percentile, 0 to 100, of the server's latencies may
// be. They differ by what the generator may have added. If bounded is false, so many requests had no
// answer that it may be anything from the least on.
func (r *Result) Between(percentile float64) (least, most time.Duration, bounded bool) {
	least = time.Duration(r.Least.ValueAtQuantile(percentile))
	most = time.Duration(r.Latency.ValueAtQuantile(percentile))
	return least, most, most < slowest-slowest/1000 // as precise as the histogram is
}

// OnTime reports whether a percentile is known: the generator has added no more than timers do, or
// no more than a twentieth of it.
func (r *Result) OnTime(percentile float64) bool {
	least, most, bounded := r.Between(percentile)
	return bounded && most-least <= max(tolerated, most/20)
}

// Busy returns the share of the generator's processors that it used while the plan lasted, 0 if it
// is not known.
func (r *Result) Busy() float64 {
	cpu, span := r.BusyCPU, r.BusyFor
	if span <= 0 {
		cpu, span = r.CPU, r.Elapsed
	}
	if cpu < 0 || span <= 0 {
		return 0
	}
	return cpu.Seconds() / span.Seconds() / float64(r.Processors)
}

// Shortfall returns why the rate was not achieved, "" if 99% of the requests were sent while the plan
// lasted. What a fleet's workers did not send is not the server's fault.
func (r *Result) Shortfall() string {
	if !r.late(r.Planned) {
		return ""
	}
	why := "workers ended early"
	if r.overloaded() {
		why = "the server, or the number of connections, was the limit"
	}
	return fmt.Sprintf("%.0f of %.0f requests a second were sent on time: %s", r.Achieved, r.Rate, why)
}
