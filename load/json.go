package load

import "fmt"

// Summary is a result for scripts. Its JSON is a stable interface, version 3. What is not known is
// null.
type Summary struct {
	Version     int                 `json:"version"`
	Rate        *float64            `json:"rate"`
	Achieved    float64             `json:"achieved"`
	Seconds     float64             `json:"seconds"`
	Requests    int64               `json:"requests"`
	Failed      int64               `json:"failed"`
	Errors      map[string]int64    `json:"errors"`
	Statuses    map[string]int64    `json:"statuses"`
	CPUSeconds  *float64            `json:"client_cpu_s"`
	Busy        *float64            `json:"client_busy"`
	Valid       bool                `json:"latency_valid"`
	Invalid     *string             `json:"latency_invalid"`
	Corrected   bool                `json:"latency_corrected"`
	LatencyNS   map[string]*float64 `json:"latency_ns"`
	LeastNS     map[string]*float64 `json:"latency_least_ns"`
	MostNS      map[string]*float64 `json:"latency_most_ns"`
	PausedNS    int64               `json:"client_paused_ns"`
	Shortfall   *string             `json:"shortfall"`
	Interrupted bool                `json:"interrupted"`
	GaveUp      *string             `json:"gave_up"`
	Due         int64               `json:"due"`
	Sent        int64               `json:"sent"`
	Answered    int64               `json:"answered"`
	Unanswered  int64               `json:"unanswered"`
	NotSent     int64               `json:"not_sent"`

	MessagesSent     int64               `json:"messages_sent"`
	MessagesReceived int64               `json:"messages_received"`
	MessageLatencyNS map[string]*float64 `json:"message_latency_ns"`

	Connections   int64    `json:"connections"`
	ConnectNS     int64    `json:"connect_mean_ns"`
	BytesSent     int64    `json:"bytes_sent"`
	BytesReceived int64    `json:"bytes_received"`
	FirstByteNS   *float64 `json:"first_byte_mean_ns"`

	Server ServerFigures `json:"server"`
}

// Summary returns the result for scripts.
func (r *Result) Summary() *Summary {
	text := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	out := &Summary{
		Version: 3, Achieved: r.Achieved, Seconds: r.Elapsed.Seconds(), Requests: r.Done, Failed: r.Failed(), Errors: r.Errors,
		Statuses: map[string]int64{}, Valid: r.Invalid() == "", Invalid: text(r.Invalid()), Corrected: r.Rate > 0,
		Shortfall: text(r.Shortfall()), Interrupted: r.Interrupted, GaveUp: text(r.GaveUp), Server: r.Server,
		Connections: r.Traffic.Connections, ConnectNS: r.Traffic.meanConnect().Nanoseconds(), BytesSent: r.Traffic.Sent, BytesReceived: r.Traffic.Received,
		MessagesSent: r.Messages.Sent, MessagesReceived: r.Messages.Received,
		Due: r.Attempts() + r.Account.NotSent, Sent: r.Attempts(), Answered: r.Done - r.Failed(), Unanswered: r.Account.Unanswered, NotSent: r.Account.NotSent, PausedNS: r.Paused.Nanoseconds(),
	}
	if r.Rate > 0 {
		out.Rate = new(r.Rate)
	}
	for status, n := range r.Statuses {
		out.Statuses[StatusName(status)] = n
	}
	if r.CPU >= 0 {
		out.CPUSeconds, out.Busy = new(r.CPU.Seconds()), new(r.Busy())
	}
	if n := r.Begun; n > 0 {
		out.FirstByteNS = new(float64(r.Beginning.Nanoseconds() / n))
	}
	known := func(q float64) bool { return out.Valid && r.OnTime(q) }
	out.LatencyNS = r.Latency.quantiles(known)
	out.LatencyNS["mean"] = nil
	if mean, ok := r.mean(); ok && out.Valid {
		out.LatencyNS["mean"] = new(float64(mean))
	}
	out.LeastNS = r.Least.quantiles(func(float64) bool { return r.Done > 0 })
	out.MostNS = r.Latency.quantiles(func(q float64) bool {
		_, _, bounded := r.Between(q)
		return bounded && r.Done > 0
	})
	if r.Messages.Latency.Histogram != nil && out.Valid {
		out.MessageLatencyNS = r.Messages.Latency.quantiles(func(float64) bool { return true })
	}
	return out
}

// quantiles returns the percentiles; nil for those that are not known.
func (h Histogram) quantiles(known func(q float64) bool) map[string]*float64 {
	all := map[string]*float64{}
	for _, q := range append([]float64{100}, Percentiles...) {
		name := fmt.Sprintf("p%g", q)
		if q == 100 {
			name = "max"
		}
		if all[name] = nil; known(q) {
			all[name] = new(float64(h.ValueAtQuantile(q)))
		}
	}
	return all
}
