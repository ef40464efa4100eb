package load

import (
	"fmt"
	"time"
)

// tolerated is how late a free sender may be at the 99th percentile, because timers are no better.
const tolerated = time.Millisecond

// Invalid returns why the latencies are the generator's own, "" if they are the server's.
func (r *Result) Invalid() string {
	if r.Done == 0 {
		return "no request was answered"
	}
	if r.fault != "" {
		return r.fault
	}
	if busy := r.Busy(); busy > 0.9 {
		return fmt.Sprintf("the generator was the limit: its %d processors were %.0f%% busy", r.Processors, busy*100)
	}
	if r.Rate == 0 {
		return ""
	}
	if late := time.Duration(r.Late.ValueAtQuantile(99)); !r.OnTime(99) {
		return fmt.Sprintf("the generator was the limit: 1%% of requests were sent %v late or more by senders that were free", late.Round(10*time.Microsecond))
	}
	if r.overloaded() {
		return r.Shortfall() + ". Latencies are then of a queue that grows as long as the run lasts"
	}
	return ""
}

// overloaded reports whether more requests came due than could be sent, which is not the
// generator's fault.
func (r *Result) overloaded() bool {
	return r.Rate > 0 && !r.Interrupted && float64(r.SentOnTime) < 0.99*float64(r.Planned-r.NotSent)
}

// OnTime reports whether the generator was on time at a percentile, 0 to 100: it was late by no
// more than timers are, or by no more than a twentieth of the latency. Where it was late, that
// percentile is the generator's own.
func (r *Result) OnTime(percentile float64) bool {
	late := time.Duration(r.Late.ValueAtQuantile(percentile))
	return late <= tolerated || late <= time.Duration(r.Latency.ValueAtQuantile(percentile))/20
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

// Shortfall returns why the rate was not achieved, "" if it was: if 99% of the requests that were
// due were sent while the plan lasted. What a fleet's workers did not send is not the server's
// fault.
func (r *Result) Shortfall() string {
	if r.Rate == 0 || r.Interrupted || float64(r.SentOnTime) >= 0.99*float64(r.Planned) {
		return ""
	}
	if !r.overloaded() {
		return fmt.Sprintf("%.0f of %.0f requests a second were sent on time: workers ended early", r.Achieved, r.Rate)
	}
	return fmt.Sprintf("%.0f of %.0f requests a second were sent on time: the server, or the number of connections, was the limit", r.Achieved, r.Rate)
}
