package load

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// Percentiles are the percentiles that a table shows.
var Percentiles = []float64{50, 75, 90, 95, 99, 99.9, 99.99}

// WriteTable writes a result for people. If the latencies are not the server's, it says why.
func (r *Result) WriteTable(w io.Writer) error {
	var table bytes.Buffer
	p := func(format string, a ...any) { fmt.Fprintf(&table, format+"\n", a...) }
	if r.Rate > 0 {
		p("rate      %.1f/s achieved of %.1f/s asked for (%.1f%%)", r.Achieved, r.Rate, 100*r.Achieved/r.Rate)
	} else {
		p("rate      %.1f/s, as many as the senders could (closed loop)", r.Achieved)
	}
	p("requests  %d in %v, %d failed", r.Done, r.Elapsed.Round(time.Millisecond), r.Failed())
	a := &r.Account
	if sent := r.Attempts(); a.NotSent+a.Unanswered > 0 {
		p("account   %d due = %d sent + %d not sent", sent+a.NotSent, sent, a.NotSent)
		p("          %d sent = %d answered + %d failed + %d unanswered", sent, r.Done-r.Failed(), r.Failed(), a.Unanswered)
	}
	if r.unreported > 0 {
		p("          %d were not sent, or by a worker that ended before it could say so", r.unreported)
	}
	for _, why := range slices.Sorted(maps.Keys(r.Errors)) {
		p("          %d: %s", r.Errors[why], why)
	}
	var statuses []string
	for _, status := range slices.Sorted(maps.Keys(r.Statuses)) {
		statuses = append(statuses, fmt.Sprintf("%s: %d", StatusName(status), r.Statuses[status]))
	}
	if len(statuses) > 0 {
		p("status    %s", strings.Join(statuses, ", "))
	}
	if r.CPU >= 0 {
		p("client    %.0f%% of %d processors, %.0f requests a CPU second", r.Busy()*100, r.Processors, float64(r.Done)/max(r.CPU, time.Microsecond).Seconds())
	} else {
		p("client    CPU time n/a")
	}
	if n := r.Traffic; n.Connections+n.Sent > 0 {
		p("network   %.4g kB/s in, %.4g kB/s out, %d connections made in %v each", r.perSecond(n.Received)/1e3, r.perSecond(n.Sent)/1e3, n.Connections, n.meanConnect())
	}
	if n := r.Begun; n > 0 {
		p("answers   begin %v after a request was sent, in the mean", rounded(r.Beginning.Nanoseconds()/n))
	}
	r.writeLatencies(p)
	if r.Messages.Sent+r.Messages.Received > 0 {
		p("messages  %d sent, %d received", r.Messages.Sent, r.Messages.Received)
	}
	if h := r.Messages.Latency; h.Histogram != nil && r.Invalid() == "" {
		p("  each    %s", h.text())
	}
	if why := r.Shortfall(); why != "" {
		p("note      %s", why)
	}
	if r.GaveUp != "" {
		p("note      given up: %s", r.GaveUp)
	} else if r.Interrupted {
		p("note      interrupted: this is what was measured until then")
	}
	if r.Server != nil && r.Done > 0 {
		p("server    %s", r.Server.text(r))
	}
	_, err := table.WriteTo(w)
	return err
}

// writeLatencies writes the percentiles, or why they are not the server's.
func (r *Result) writeLatencies(p func(format string, a ...any)) {
	if why := r.Invalid(); why != "" {
		p("latency   not valid: %s", why)
	} else {
		if r.Rate > 0 {
			p("latency   from when a request was due")
		} else {
			p("latency   from when a request was sent: a server that stands still hides it (give --rate)")
		}
		for _, q := range r.shownPercentiles() {
			p("  %-7s %s", fmt.Sprintf("p%g", q), r.shown(q))
		}
		p("  %-7s %s", "max", r.shown(100))
		if mean, known := r.mean(); known {
			p("  %-7s %v", "mean", rounded(mean.Nanoseconds()))
		}
	}
	r.writeOutcomes(p)
	if r.Paused > 0 && r.Rate > 0 {
		p("note      the generator itself did not run for %v in all; latencies say what that may have added", r.Paused.Round(time.Millisecond))
	}
}

func (r *Result) perSecond(n int64) float64 {
	return float64(n) / max(r.Elapsed, time.Millisecond).Seconds()
}

// meanConnect is how long a connection took to make.
func (t Traffic) meanConnect() time.Duration {
	return rounded(t.Connecting.Nanoseconds() / max(1, t.Connections))
}

// shownPercentiles are those that at least one request was slower than.
func (r *Result) shownPercentiles() []float64 {
	n := len(Percentiles)
	for n > 1 && float64(r.Latency.TotalCount())*(100-Percentiles[n-1]) < 99.999 {
		n--
	}
	return Percentiles[:n]
}

// shown returns a percentile of the latencies, as an interval if it is one.
func (r *Result) shown(percentile float64) string {
	least, most, bounded := r.Between(percentile)
	low, high := rounded(int64(least)), rounded(int64(most))
	switch {
	case !bounded:
		return fmt.Sprintf("at least %v: these had no answer", low)
	case !r.OnTime(percentile):
		return fmt.Sprintf("%v to %v: the rest may be the generator's own", low, high)
	}
	return high.String()
}

// mean returns the mean latency. It is not known if the generator was late at p99, or if a request
// had no answer.
func (r *Result) mean() (mean time.Duration, known bool) {
	whole := r.Done > 0 && r.Account.Unanswered+r.Account.NotSent == 0
	return time.Duration(r.Latency.Mean()), whole && r.OnTime(99)
}

// writeOutcomes writes percentiles of successes and of failures, if both are at least a tenth. A
// percentile of all may be a latency that neither had.
func (r *Result) writeOutcomes(p func(format string, a ...any)) {
	failed := r.Failures
	if failed.Histogram == nil || r.Successes.Histogram == nil || min(failed.TotalCount(), r.Successes.TotalCount()) < max(1, r.Done/10) {
		return
	}
	p("  succeeded %s", r.Successes.text())
	p("  failed    %s", failed.text())
}

// text has a few percentiles.
func (h Histogram) text() string {
	at := func(percentile float64) time.Duration { return rounded(h.ValueAtQuantile(percentile)) }
	return fmt.Sprintf("p50 %v, p90 %v, p99 %v, max %v", at(50), at(90), at(99), at(100))
}

// Attempts is how many requests were sent.
func (r *Result) Attempts() int64 { return r.Done + r.Account.Unanswered }

func rounded(ns int64) time.Duration {
	d := time.Duration(ns)
	if d > 10*time.Millisecond {
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(time.Microsecond)
}
