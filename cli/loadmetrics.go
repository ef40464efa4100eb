//go:build !benchonly

package cli

import (
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"postage/load"
)

// latencyBounds are the upper bounds of the classic buckets, in seconds.
var latencyBounds = []float64{
	.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 25, 60,
}

// loadMetrics has the figures up to the last whole second, for Prometheus to collect.
type loadMetrics struct {
	latency           prometheus.Histogram
	answers, failures *prometheus.CounterVec
	paused            prometheus.Counter
	last              load.Interval
}

func newLoadMetrics(registry *prometheus.Registry) *loadMetrics {
	metrics := promauto.With(registry)
	counted := func(name, help, label string) *prometheus.CounterVec {
		return metrics.NewCounterVec(prometheus.CounterOpts{Name: "postage_load_" + name, Help: help}, []string{label})
	}
	return &loadMetrics{
		latency: metrics.NewHistogram(prometheus.HistogramOpts{
			Name: "postage_load_latency_seconds", Help: "From when a request was due, or sent at --rate max, to its answer, failures included.",
			Buckets: latencyBounds, NativeHistogramBucketFactor: 1.1,
		}),
		answers:  counted("answers_total", "Answers by the status of HTTP or gRPC.", "status"),
		failures: counted("failures_total", "Requests that failed, by reason.", "reason"),
		paused: metrics.NewCounter(prometheus.CounterOpts{
			Name: "postage_load_generator_paused_seconds_total", Help: "For how long the generator did not run although it should have: latencies may have this in them.",
		}),
	}
}

// told adds an interval's figures.
func (m *loadMetrics) told(in load.Interval) {
	for _, bar := range in.Latency.Distribution() {
		for range bar.Count {
			m.latency.Observe(float64(bar.From+bar.To) / 2e6)
		}
	}
	for status, n := range in.Statuses {
		m.answers.WithLabelValues(load.StatusName(status)).Add(float64(n - m.last.Statuses[status]))
	}
	for why, n := range in.Errors {
		m.failures.WithLabelValues(why).Add(float64(n - m.last.Errors[why]))
	}
	m.paused.Add(in.Paused.Seconds())
	m.last = in
}

// loadExport gives a load's metrics to Prometheus when it asks.
type loadExport struct {
	*loadMetrics
	server *http.Server
}

// openExport listens on --prometheus's address. It returns nil without one.
func openExport(address string) (*loadExport, error) {
	if address == "" {
		return nil, nil
	}
	registry := prometheus.NewPedanticRegistry()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--prometheus: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	e := &loadExport{newLoadMetrics(registry), &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}}
	go func() { _ = e.server.Serve(listener) }()
	return e, nil
}

// close stops listening.
func (e *loadExport) close() error {
	if e == nil {
		return nil
	}
	return e.server.Close()
}
