package load

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Latencies that are the generator's fault are null, with the reason.
func TestInvalidLatenciesAreNull(t *testing.T) {
	result := &Result{Rate: 100, Achieved: 100, Done: 100, Use: Use{Elapsed: time.Second, Processors: 2, CPU: time.Second}}
	result.Latency.Histogram, result.Least.Histogram = hdrhistogram.New(1, 1e9, 3), hdrhistogram.New(1, 1e9, 3)
	for range 100 {
		_ = result.Latency.RecordValue(10_000_000)
		_ = result.Least.RecordValue(10_000_000)
	}
	if f := result.Summary(); f.Invalid != nil || f.LatencyNS["p99"] == nil || f.LatencyNS["max"] == nil || f.Rate == nil {
		t.Errorf("valid: %+v", f)
	}
	result.CPU = 1900 * time.Millisecond
	f := result.Summary()
	if f.Invalid == nil || f.Valid {
		t.Errorf("invalid: %+v", f)
	}
	for name, value := range f.LatencyNS {
		if value != nil {
			t.Errorf("%s is %v", name, *value)
		}
	}
	if len(f.LatencyNS) != len(Percentiles)+2 { // with max and mean
		t.Errorf("percentiles %v", f.LatencyNS)
	}
}

// The JSON of a result, in which HTML characters stand as they are.
func TestSummaryJSON(t *testing.T) {
	why := "the <name> & version are another's"
	s := Summary{Version: 3, Achieved: 99.5, Seconds: 10, Requests: 995, Failed: 1, Errors: map[string]int64{"GET <a>": 1}, Statuses: map[string]int64{},
		Invalid: &why, LatencyNS: map[string]*float64{"p50": nil, "max": nil}}
	var got bytes.Buffer
	encoder := json.NewEncoder(&got)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(&s); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/summary.json")
	if err != nil || got.String() != string(want) {
		t.Errorf("%v: testdata/summary.json differs from\n%s", err, got.String())
	}
}
