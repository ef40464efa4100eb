//go:build !benchonly

package cli

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"postage/load"
)

// latencyBounds are the upper bounds of the classic buckets, in seconds.
var latencyBounds = []float64{
	.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 25, 60,
}

var pausedSeconds = prometheus.NewDesc("postage_load_generator_paused_seconds_total", "For how long the generator did not run although it should have: latencies may have this in them.", nil, nil)

// nativeSchema is the resolution of the native histogram: eight buckets to a factor of two.
const nativeSchema = 3

// loadMetrics are a load's figures, those of the last whole second, for Prometheus to collect.
type loadMetrics struct {
	began                                      time.Time
	latency, answers, failures, target, misses *prometheus.Desc

	mu      sync.Mutex
	count   uint64
	sum     float64
	classic map[float64]uint64
	native  map[int]int64
	last    load.Interval // its Paused is of all
}

func newLoadMetrics() *loadMetrics {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("postage_load_"+name, help, labels, nil)
	}
	m := &loadMetrics{
		began: time.Now(), classic: map[float64]uint64{}, native: map[int]int64{},
		latency:  desc("latency_seconds", "From when a request was due, or sent at --rate max, to its answer, failures included."),
		answers:  desc("answers_total", "Answers by the status of HTTP or gRPC.", "status"),
		failures: desc("failures_total", "Requests that failed, by reason.", "reason"),
		target:   desc("target_latency_seconds", "As latency_seconds, by target.", "target"),
		misses:   desc("target_failures_total", "Requests that failed, by target.", "target"),
	}
	for _, bound := range latencyBounds {
		m.classic[bound] = 0
	}
	return m
}

// told adds an interval's figures.
func (m *loadMetrics) told(in load.Interval) {
	m.mu.Lock()
	defer m.mu.Unlock()
	in.Paused += m.last.Paused
	m.last = in
	for _, bar := range in.Latency.Distribution() {
		if bar.Count == 0 {
			continue
		}
		seconds := float64(bar.From+bar.To) / 2e6
		m.count += uint64(bar.Count)
		m.sum += seconds * float64(bar.Count)
		for _, bound := range latencyBounds {
			if seconds <= bound {
				m.classic[bound] += uint64(bar.Count)
			}
		}
		m.native[int(math.Ceil(math.Log2(seconds)*(1<<nativeSchema)))] += bar.Count
	}
}

// Describe and Collect implement Prometheus' Collector. What there is to describe depends on the
// answers.
func (m *loadMetrics) Describe(chan<- *prometheus.Desc) {}

func (m *loadMetrics) Collect(to chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	to <- bothHistograms{
		prometheus.MustNewConstHistogram(m.latency, m.count, m.sum, m.classic),
		prometheus.MustNewConstNativeHistogram(m.latency, m.count, m.sum, m.native, nil, 0, nativeSchema, 0, m.began),
	}
	to <- prometheus.MustNewConstMetric(pausedSeconds, prometheus.CounterValue, m.last.Paused.Seconds())
	for status, n := range m.last.Statuses {
		to <- prometheus.MustNewConstMetric(m.answers, prometheus.CounterValue, float64(n), load.StatusName(status))
	}
	for _, t := range m.last.Targets {
		seconds := map[float64]float64{}
		for _, q := range load.Percentiles {
			seconds[q/100] = float64(t.Latency.ValueAtQuantile(q)) / 1e6
		}
		to <- prometheus.MustNewConstSummary(m.target, uint64(t.Done), t.Latency.Mean()*float64(t.Done)/1e6, seconds, t.Name)
		to <- prometheus.MustNewConstMetric(m.misses, prometheus.CounterValue, float64(t.Failed), t.Name)
	}
	for why, n := range m.last.Errors {
		to <- prometheus.MustNewConstMetric(m.failures, prometheus.CounterValue, float64(n), why)
	}
}

// bothHistograms is a classic histogram that also has the buckets of a native one, so that servers
// can take the kind that they know.
type bothHistograms struct {
	prometheus.Metric
	native prometheus.Metric
}

func (b bothHistograms) Write(to *dto.Metric) error {
	var native dto.Metric
	if err := errors.Join(b.Metric.Write(to), b.native.Write(&native)); err != nil {
		return err
	}
	h, n := to.Histogram, native.Histogram
	h.Schema, h.ZeroThreshold, h.ZeroCount, h.PositiveSpan, h.PositiveDelta = n.Schema, n.ZeroThreshold, n.ZeroCount, n.PositiveSpan, n.PositiveDelta
	h.CreatedTimestamp = n.CreatedTimestamp
	return nil
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
