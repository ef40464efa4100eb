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
var Percentiles = []float64{50, 75, 90, 99, 99.9, 99.99}

// WriteTable writes a result for people. In place of latencies that are not the server's, it writes
// the reason.
func (r *Result) WriteTable(w io.Writer) error {
	var table bytes.Buffer
	p := func(format string, a ...any) { fmt.Fprintf(&table, format+"\n", a...) }
	if r.Rate > 0 {
		p("rate      %.1f/s achieved of %.1f/s asked for (%.1f%%)", r.Achieved, r.Rate, 100*r.Achieved/r.Rate)
	} else {
		p("rate      %.1f/s, as many as the senders could (closed loop)", r.Achieved)
	}
	p("requests  %d in %v, %d failed", r.Done, r.Elapsed.Round(time.Millisecond), r.Failed())
	if r.NotSent > 0 {
		p("          %d of %d were not sent, or by a worker that ended before it could say so", r.NotSent, r.Planned)
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
		p("client    %.0f%% of %d processors, %.0f requests a CPU second", r.Busy()*100, r.Processors, r.perCPU())
	} else {
		p("client    CPU time n/a")
	}
	r.writeLatencies(p)
	for _, t := range r.Targets {
		p("target    %s: %d, %.1f/s, %d failed%s", t.Name, t.Done, t.Rate(r), t.Failed, t.percentiles(r))
	}
	if r.Sent+r.Received > 0 {
		p("messages  %d sent, %d received", r.Sent, r.Received)
	}
	if h := r.MessageLatency; h.Histogram != nil && r.Invalid() == "" {
		p("  each    p50 %v, p99 %v, max %v", rounded(h.ValueAtQuantile(50)), rounded(h.ValueAtQuantile(99)), rounded(h.Max()))
	}
	if why := r.Shortfall(); why != "" {
		p("note      %s", why)
	}
	if r.GaveUp != "" {
		p("note      given up: %s", r.GaveUp)
	} else if r.Interrupted {
		p("note      interrupted: this is what was measured until then")
		if r.Unanswered > 0 {
			p("          %d requests had no answer yet; they count as at least as long as they had waited", r.Unanswered)
		}
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
		for _, q := range Percentiles {
			p("  %-7s %s", fmt.Sprintf("p%g", q), r.shown(q, r.Latency.ValueAtQuantile(q)))
		}
		p("  %-7s %s", "max", r.shown(100, r.Latency.Max()))
	}
}

// Rate is the target's answers a second.
func (t *TargetResult) Rate(r *Result) float64 {
	return float64(t.Done) / max(r.Elapsed, time.Millisecond).Seconds()
}

func (t *TargetResult) percentiles(r *Result) string {
	if r.Invalid() != "" || t.Done == 0 {
		return ""
	}
	us := func(n int64) time.Duration { return rounded(n * 1000) }
	return fmt.Sprintf(", p50 %v, p99 %v, max %v", us(t.Latency.ValueAtQuantile(50)), us(t.Latency.ValueAtQuantile(99)), us(t.Latency.Max()))
}

// shown returns a percentile of the latencies, or why it is not the server's.
func (r *Result) shown(percentile float64, ns int64) string {
	if !r.OnTime(percentile) {
		late := rounded(r.Late.ValueAtQuantile(percentile))
		return fmt.Sprintf("n/a: the generator itself was late by %v at this percentile", late)
	}
	return rounded(ns).String()
}

func (r *Result) perCPU() float64 {
	if r.CPU <= 0 {
		return 0
	}
	return float64(r.Done) / r.CPU.Seconds()
}

func rounded(ns int64) time.Duration {
	d := time.Duration(ns)
	if d > 10*time.Millisecond {
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(time.Microsecond)
}
