package cli

import (
	"fmt"
	"math"

	"postage/internal/report"
	"postage/load"
)

// loadPage makes the page about a load on a target.
func (s *loadSeconds) loadPage(t *load.Target, r *load.Result) report.LoadPage {
	what := t.Request.Method
	if t.RPC != "" {
		what = t.RPC
	}
	if n := len(t.Requests); n > 1 {
		what = fmt.Sprintf("%d requests, the first %s", n, what)
	}
	p := report.LoadPage{What: fmt.Sprintf("%s %s by %s, %d connections", what, t.Request.URL.Redacted(), t.Proto, t.Conns), Started: s.began, Load: loadForm(r, t.Proto), Seconds: s.page}
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
		p.Distribution = append(p.Distribution, report.LoadQuantile{Percentile: q, NS: float64(r.Latency.ValueAtQuantile(q))})
	}
}
