package load

import (
	"fmt"
	"time"
)

// tolerated is how late a free sender may be at the 99th percentile: what timers need.
const tolerated = time.Millisecond

// Invalid says why the latencies are not the server's but the generator's own, "" if
// they are the server's.
func (r *Result) Invalid() string {
	if r.Done == 0 {
		return "no request was answered"
	}
	if busy := r.Busy(); busy > 0.9 {
		return fmt.Sprintf("the generator was the limit: its %d processors were %.0f%% busy", r.Processors, busy*100)
	}
	if r.Rate == 0 {
		return ""
	}
	late := time.Duration(r.Late.ValueAtQuantile(99))
	p99 := time.Duration(r.Latency.ValueAtQuantile(99))
	if late > tolerated && late > p99/20 {
		return fmt.Sprintf("the generator was the limit: 1%% of requests were sent %v late or more by senders that were free", late.Round(10*time.Microsecond))
	}
	return ""
}

// Busy is the share of the generator's processors that it used, 0 where it is not known.
func (r *Result) Busy() float64 {
	if r.CPU < 0 || r.Elapsed <= 0 {
		return 0
	}
	return r.CPU.Seconds() / r.Elapsed.Seconds() / float64(r.Processors)
}

// Shortfall says why the rate was not achieved, "" if it was.
func (r *Result) Shortfall() string {
	if r.Rate == 0 || r.Interrupted || r.Achieved >= 0.99*r.Rate {
		return ""
	}
	return fmt.Sprintf("%.0f of %.0f requests a second were achieved: the server, or the number of connections, was the limit", r.Achieved, r.Rate)
}
