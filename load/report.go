package load

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

// percentiles are those that a table shows.
var percentiles = []float64{50, 75, 90, 99, 99.9, 99.99}

// WriteTable writes a result for people. Latencies that are not the server's are left
// out, and why is said in their place.
func (r *Result) WriteTable(w io.Writer) error {
	var failed error
	p := func(format string, a ...any) {
		if failed == nil {
			_, failed = fmt.Fprintf(w, format+"\n", a...)
		}
	}
	if r.Rate > 0 {
		p("rate      %.1f/s achieved of %.1f/s asked for (%.1f%%)", r.Achieved, r.Rate, 100*r.Achieved/r.Rate)
	} else {
		p("rate      %.1f/s, as many as the senders could (closed loop)", r.Achieved)
	}
	p("requests  %d in %v, %d failed", r.Done, r.Elapsed.Round(time.Millisecond), r.Failed())
	for _, why := range slices.Sorted(maps.Keys(r.Errors)) {
		p("          %d: %s", r.Errors[why], why)
	}
	if r.CPU >= 0 {
		p("client    %.0f%% of %d processors, %.0f requests a CPU second", r.Busy()*100, r.Processors, r.perCPU())
	} else {
		p("client    CPU time n/a")
	}
	if why := r.Invalid(); why != "" {
		p("latency   not valid: %s", why)
	} else {
		if r.Rate > 0 {
			p("latency   from when a request was due")
		} else {
			p("latency   from when a request was sent: a server that stands still hides it (give --rate)")
		}
		for _, q := range percentiles {
			p("  %-7s %v", fmt.Sprintf("p%g", q), rounded(r.Latency.ValueAtQuantile(q)))
		}
		p("  %-7s %v", "max", rounded(r.Latency.Max()))
	}
	if why := r.Shortfall(); why != "" {
		p("note      %s", why)
	}
	if r.Interrupted {
		p("note      interrupted: this is what was measured until then")
	}
	return failed
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

// resultJSON is a result as scripts read it; what is absent is null.
type resultJSON struct {
	Version     int                 `json:"version"`
	Rate        *float64            `json:"rate"`
	Achieved    float64             `json:"achieved"`
	Seconds     float64             `json:"seconds"`
	Requests    int64               `json:"requests"`
	Failed      int64               `json:"failed"`
	Errors      map[string]int64    `json:"errors"`
	CPUSeconds  *float64            `json:"client_cpu_s"`
	Busy        *float64            `json:"client_busy"`
	Valid       bool                `json:"latency_valid"`
	Invalid     string              `json:"latency_invalid,omitempty"`
	Corrected   bool                `json:"latency_corrected"` // counted from when a request was due
	LatencyNS   map[string]*float64 `json:"latency_ns"`
	LateP99NS   *float64            `json:"late_p99_ns"`
	Shortfall   string              `json:"shortfall,omitempty"`
	Interrupted bool                `json:"interrupted"`
}

// WriteJSON writes a result for programs.
func (r *Result) WriteJSON(w io.Writer) error {
	out := resultJSON{
		Version: 1, Achieved: r.Achieved, Seconds: r.Elapsed.Seconds(), Requests: r.Done, Failed: r.Failed(),
		Errors: r.Errors, Invalid: r.Invalid(), Valid: r.Invalid() == "", Corrected: r.Rate > 0,
		Shortfall: r.Shortfall(), Interrupted: r.Interrupted, LatencyNS: map[string]*float64{},
	}
	number := func(f float64) *float64 { return &f }
	if r.Rate > 0 {
		out.Rate = number(r.Rate)
		out.LateP99NS = number(float64(r.Late.ValueAtQuantile(99)))
	}
	if r.CPU >= 0 {
		out.CPUSeconds, out.Busy = number(r.CPU.Seconds()), number(r.Busy())
	}
	for _, q := range percentiles {
		out.LatencyNS[fmt.Sprintf("p%g", q)] = nil
		if out.Valid {
			out.LatencyNS[fmt.Sprintf("p%g", q)] = number(float64(r.Latency.ValueAtQuantile(q)))
		}
	}
	out.LatencyNS["max"] = nil
	if out.Valid {
		out.LatencyNS["max"] = number(float64(r.Latency.Max()))
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(out)
}

// WriteHGRM writes the whole distribution in milliseconds, in the text form that the
// plotters of HdrHistogram read. It refuses latencies that are not valid.
func (r *Result) WriteHGRM(w io.Writer) error {
	if why := r.Invalid(); why != "" {
		return fmt.Errorf("load: no distribution is written, as its latencies are not valid: %s", why)
	}
	_, err := r.Latency.PercentilesPrint(w, 5, 1e6)
	return err
}
