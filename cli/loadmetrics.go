package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/exp/api/remote"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"google.golang.org/protobuf/encoding/protowire"

	"postage/load"
)

// latencyBounds are the upper bounds of the classic buckets, in seconds.
var latencyBounds = []float64{
	.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 25, 60,
}

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
	last    load.Interval
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

// loadExport gives a load's metrics to Prometheus: when asked, or by remote write.
type loadExport struct {
	*loadMetrics
	registry *prometheus.Registry
	server   *http.Server
	api      *remote.API
	labels   model.LabelSet // of what is written
	wake     chan struct{}  // something new is to be written
	written  chan struct{}  // closed when all is
	failed   error          // the last failure to write; read after written is closed
	ctx      context.Context
	giveUp   context.CancelCauseFunc
}

// lastWrites is how long what is left to be written may take at the end.
const lastWrites = 3 * time.Second

// openExport listens, and begins to write, as the flags say. It returns nil if they ask for
// neither.
func (f *loadFlags) openExport() (*loadExport, error) {
	if f.prometheus == "" && f.prometheusWrite == "" {
		return nil, nil
	}
	e := &loadExport{loadMetrics: newLoadMetrics(), registry: prometheus.NewPedanticRegistry()}
	e.registry.MustRegister(e.loadMetrics)
	if f.prometheusWrite != "" {
		u, err := url.Parse(f.prometheusWrite)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, hinted(fmt.Errorf("--prometheus-write %q is not a URL", f.prometheusWrite), "want one such as http://localhost:9090/api/v1/write")
		}
		e.api, err = remote.NewAPI(u.String(), remote.WithAPIPath(""), remote.WithAPIHTTPClient(&http.Client{Timeout: 5 * time.Second}),
			remote.WithAPIBackoff(remote.BackoffConfig{Min: 100 * time.Millisecond, Max: time.Second, MaxRetries: 3}))
		if err != nil {
			return nil, fmt.Errorf("--prometheus-write: %w", err)
		}
		host, _ := os.Hostname()
		e.labels = model.LabelSet{"job": "postage_load", "instance": model.LabelValue(cmp.Or(host, "unknown"))}
		e.wake, e.written = make(chan struct{}, 1), make(chan struct{})
		e.ctx, e.giveUp = context.WithCancelCause(context.Background())
		go func() {
			defer close(e.written)
			for range e.wake {
				e.failed = e.write()
			}
		}()
	}
	if f.prometheus != "" {
		listener, err := net.Listen("tcp", f.prometheus)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("--prometheus: %w", err), e.close())
		}
		mux := http.NewServeMux()
		mux.Handle("/metrics", promhttp.HandlerFor(e.registry, promhttp.HandlerOpts{}))
		e.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
		go func() { _ = e.server.Serve(listener) }()
	}
	return e, nil
}

func (e *loadExport) told(in load.Interval) {
	e.loadMetrics.told(in)
	if e.api != nil {
		select {
		case e.wake <- struct{}{}:
		default: // it will be written with what is not yet
		}
	}
}

// close writes what is left, and stops listening.
func (e *loadExport) close() (err error) {
	if e == nil {
		return nil
	}
	if e.server != nil {
		err = e.server.Close()
	}
	if e.api != nil {
		defer time.AfterFunc(lastWrites, func() { e.giveUp(fmt.Errorf("no answer within %v of the end", lastWrites)) }).Stop()
		close(e.wake)
		<-e.written
		e.giveUp(nil)
		if e.failed != nil {
			err = errors.Join(err, fmt.Errorf("--prometheus-write: %w", e.failed))
		}
	}
	return err
}

// write sends the current figures as remote write 1.0, which every receiver accepts.
func (e *loadExport) write() error {
	families, err := e.registry.Gather()
	if err != nil {
		return err
	}
	now := model.Now()
	samples, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{Timestamp: now}, families...)
	if err != nil {
		return err
	}
	if _, err = e.api.Write(e.ctx, remote.WriteV1MessageType, encodeWrite(samples, e.labels)); e.ctx.Err() != nil {
		return context.Cause(e.ctx)
	}
	return err
}

// encodeWrite encodes the WriteRequest of
// https://github.com/prometheus/prometheus/blob/main/prompb/remote.proto by hand: its generated
// code would make all of Prometheus a dependency.
func encodeWrite(samples model.Vector, labels model.LabelSet) writeRequest {
	var out writeRequest
	message := func(to []byte, field protowire.Number, m []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), m)
	}
	for _, s := range samples {
		var series []byte
		all := model.LabelSet(s.Metric).Merge(labels)
		for _, name := range slices.Sorted(maps.Keys(all)) { // as the protocol wants them
			label := message(nil, 1, []byte(name))
			series = message(series, 1, message(label, 2, []byte(all[name])))
		}
		sample := protowire.AppendFixed64(protowire.AppendTag(nil, 1, protowire.Fixed64Type), math.Float64bits(float64(s.Value)))
		sample = protowire.AppendVarint(protowire.AppendTag(sample, 2, protowire.VarintType), uint64(s.Timestamp))
		out = message(out, 1, message(series, 2, sample))
	}
	return out
}

// writeRequest is an encoded message in the type that remote.API takes.
type writeRequest []byte

func (w writeRequest) Size() int { return len(w) }

func (w writeRequest) MarshalToSizedBuffer(to []byte) (int, error) { return copy(to, w), nil }
