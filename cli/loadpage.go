package cli

import (
	"fmt"
	"math"

	"postage/internal/loadpage"
	"postage/load"
)

// loadPage makes the page about a load on a target.
func (s *loadSeconds) loadPage(t *load.Target, r *load.Result) loadpage.Page {
	first, n := t.Request, len(t.Requests)
	if n > 0 {
		first = t.Requests[0]
	}
	what := first.Method
	if t.RPC != "" {
		what = t.RPC
	}
	if n > 1 {
		what = fmt.Sprintf("%d requests, the first %s", n, what)
	}
	p := loadpage.Page{What: fmt.Sprintf("%s %s by %s, %d connections", what, first.URL.Redacted(), t.Proto, t.Conns), Started: s.began, Load: loadForm(r), Seconds: s.page}
	if r.Invalid() != "" {
		return p
	}
	// Twenty percentiles for each factor of ten in the share of slower requests, as far as there
	// are enough requests and the generator was on time.
	for i := 0; ; i++ {
		slower := math.Pow(10, -float64(i)/20)
		q := 100 * (1 - slower)
		if slower*float64(r.Latency.TotalCount()) < 1 || !r.OnTime(q) {
			return p
		}
		p.Distribution = append(p.Distribution, loadpage.Quantile{Percentile: q, NS: float64(r.Latency.ValueAtQuantile(q))})
	}
}

// loadForm is a result in the form that scripts read.
func loadForm(r *load.Result) loadpage.Load {
	text := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	form := loadpage.Load{
		Achieved: r.Achieved, Seconds: r.Elapsed.Seconds(), Requests: r.Done, Failed: r.Failed(), Errors: r.Errors,
		Valid: r.Invalid() == "", Invalid: text(r.Invalid()), Corrected: r.Rate > 0,
		Shortfall: text(r.Shortfall()), Interrupted: r.Interrupted, Unanswered: r.Unanswered, NotSent: r.NotSent, Server: (*loadpage.LoadServer)(r.Server),
	}
	if r.Rate > 0 {
		form.Rate, form.LateP99NS = new(r.Rate), new(float64(r.Late.ValueAtQuantile(99)))
	}
	form.Statuses = map[string]int64{}
	for status, n := range r.Statuses {
		form.Statuses[load.StatusName(status)] = n
	}
	if r.CPU >= 0 {
		form.CPUSeconds, form.Busy = new(r.CPU.Seconds()), new(r.Busy())
	}
	if r.Sent+r.Received > 0 {
		form.MessagesSent, form.MessagesReceived = &r.Sent, &r.Received
	}
	known := func(q float64) bool { return form.Valid && r.OnTime(q) }
	if form.LatencyNS = quantiles(r.Latency, 1, known); r.MessageLatency.Histogram != nil && form.Valid {
		form.MessageLatencyNS = quantiles(r.MessageLatency, 1, func(float64) bool { return true })
	}
	for i := range r.Targets {
		t := &r.Targets[i]
		form.Targets = append(form.Targets, loadpage.LoadTarget{Name: t.Name, Rate: t.Rate(r), Requests: t.Done, Failed: t.Failed,
			LatencyNS: quantiles(t.Latency, 1e3, func(q float64) bool { return known(q) && t.Done > 0 })})
	}
	return form
}

// quantiles are those of a histogram's latencies that are known, in units of so many ns, as scripts
// read them.
func quantiles(h load.Histogram, unit float64, known func(q float64) bool) map[string]*float64 {
	all := map[string]*float64{}
	for _, q := range append([]float64{100}, load.Percentiles...) {
		name := fmt.Sprintf("p%g", q)
		if q == 100 {
			name = "max"
		}
		if all[name] = nil; known(q) {
			all[name] = new(float64(h.ValueAtQuantile(q)) * unit)
		}
	}
	return all
}
