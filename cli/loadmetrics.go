//go:build !benchonly

package cli

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"postage/load"
)

// latencyBounds are the upper bounds of the classic buckets, in seconds.
var latencyBounds = []float64{
	.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 25, 60,
}

// loadMetrics has the figures of the last whole second, for Prometheus to collect.
type loadMetrics struct {
	latency                    prometheus.Histogram
	answers, failures, stopped *prometheus.Desc

	mu   sync.Mutex
	last load.Interval // its Paused is the sum since the run began
}

func newLoadMetrics() *loadMetrics {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("postage_load_"+name, help, labels, nil)
	}
	return &loadMetrics{
		latency: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "postage_load_latency_seconds", Help: "From when a request was due, or sent at --rate max, to its answer, failures included.",
			Buckets: latencyBounds, NativeHistogramBucketFactor: 1.1,
		}),
		answers:  desc("answers_total", "Answers by the status of HTTP or gRPC.", "status"),
		failures: desc("failures_total", "Requests that failed, by reason.", "reason"),
		stopped:  desc("generator_paused_seconds_total", "For how long the generator did not run although it should have: latencies may have this in them."),
	}
}

// told adds an interval's figures.
func (m *loadMetrics) told(in load.Interval) {
	m.mu.Lock()
	defer m.mu.Unlock()
	in.Paused += m.last.Paused
	m.last = in
	for _, bar := range in.Latency.Distribution() {
		for range bar.Count {
			m.latency.Observe(float64(bar.From+bar.To) / 2e6)
		}
	}
}

// Describe and Collect implement Prometheus' Collector. What there is to describe depends on the
// answers.
func (m *loadMetrics) Describe(chan<- *prometheus.Desc) {}

func (m *loadMetrics) Collect(to chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.latency.Collect(to)
	to <- prometheus.MustNewConstMetric(m.stopped, prometheus.CounterValue, m.last.Paused.Seconds())
	for status, n := range m.last.Statuses {
		to <- prometheus.MustNewConstMetric(m.answers, prometheus.CounterValue, float64(n), load.StatusName(status))
	}
	for why, n := range m.last.Errors {
		to <- prometheus.MustNewConstMetric(m.failures, prometheus.CounterValue, float64(n), why)
	}
}

// loadExport gives a load's metrics to Prometheus when it asks.
type loadExport struct {
	*loadMetrics
	server *http.Server
}

// openExport listens where --prometheus says. It returns nil without it.
func (f *loadFlags) openExport() (*loadExport, error) {
	if f.prometheus == "" {
		return nil, nil
	}
	registry, metrics := prometheus.NewPedanticRegistry(), newLoadMetrics()
	registry.MustRegister(metrics)
	listener, err := net.Listen("tcp", f.prometheus)
	if err != nil {
		return nil, fmt.Errorf("--prometheus: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	e := &loadExport{metrics, &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}}
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
