package cli

import (
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"postage/load"
)

// Latencies that are the generator's fault are null, with the reason.
func TestInvalidLatenciesAreNull(t *testing.T) {
	result := &load.Result{Rate: 100, Achieved: 100, Done: 100, Use: load.Use{Elapsed: time.Second, Processors: 2, CPU: time.Second}}
	result.Latency.Histogram, result.Late.Histogram = hdrhistogram.New(1, 1e9, 3), hdrhistogram.New(1, 1e9, 3)
	for range 100 {
		_ = result.Latency.RecordValue(10_000_000)
	}
	if f := loadForm(result); f.Invalid != nil || f.LatencyNS["p99"] == nil || f.LatencyNS["max"] == nil || f.Rate == nil {
		t.Errorf("valid: %+v", f)
	}
	result.CPU = 1900 * time.Millisecond
	f := loadForm(result)
	if f.Invalid == nil || f.Valid {
		t.Errorf("invalid: %+v", f)
	}
	for name, value := range f.LatencyNS {
		if value != nil {
			t.Errorf("%s is %v", name, *value)
		}
	}
	if len(f.LatencyNS) != len(load.Percentiles)+1 {
		t.Errorf("percentiles %v", f.LatencyNS)
	}
}

// As many requests as would take centuries last as long as --duration.
func TestMostRequests(t *testing.T) {
	for most, want := range map[int64]time.Duration{5: 5 * time.Second, 1 << 40: 10 * time.Second} {
		pacer, err := (&loadFlags{rate: 1, most: most, duration: 10 * time.Second}).pacer()
		if err != nil {
			t.Fatal(err)
		}
		if _, lasts := pacer.Span(); lasts != want {
			t.Errorf("%d requests last %v, want %v", most, lasts, want)
		}
	}
}
