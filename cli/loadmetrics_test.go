package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"postage/load"
)

// loaded runs a load of 100 requests, where one in four fails, and exports its metrics.
func loaded(t *testing.T, told func(load.Interval)) *load.Result {
	t.Helper()
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n++; n%4 == 0 {
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	defer server.Close()
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := load.Open(t.Context(), &load.Target{Proto: "http1", Conns: 1, Streams: 1, Request: load.Request{URL: u}})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	r, err := load.Run(t.Context(), load.Plan{
		Pacer: load.Constant{Rate: 100, For: time.Second}, Lines: pool.Lines,
		Every: 100 * time.Millisecond, Told: told,
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The metrics agree with the result, in both kinds of histogram, and have names that Prometheus
// approves of.
func TestLoadMetrics(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	r := loaded(t, newLoadMetrics(registry).told)
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", err, problems)
	}
	err := testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP postage_load_answers_total Answers by the status of HTTP or gRPC.
# TYPE postage_load_answers_total counter
postage_load_answers_total{status="200"} 75
postage_load_answers_total{status="418"} 25
# HELP postage_load_failures_total Requests that failed, by reason.
# TYPE postage_load_failures_total counter
postage_load_failures_total{reason="status 418"} 25
`), "postage_load_answers_total", "postage_load_failures_total")
	if err != nil {
		t.Error(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var h *dto.Histogram
	for _, f := range families {
		if f.GetName() == "postage_load_latency_seconds" {
			h = f.Metric[0].Histogram
		}
	}
	if h.GetSampleCount() != 100 || h.GetSchema() != 3 {
		t.Fatal(h)
	}
	if mean := h.GetSampleSum() / 100 / (r.Latency.Mean() / 1e9); mean < 0.97 || mean > 1.03 {
		t.Errorf("the mean is %.3f of the result's", mean)
	}
	// The buckets of both hold all, and the classic one's as many as the result says.
	last := h.Bucket[len(h.Bucket)-1]
	if last.GetCumulativeCount() != 100 || last.GetUpperBound() != 60 {
		t.Error(last)
	}
	total, each := int64(0), int64(0)
	for _, d := range h.PositiveDelta {
		each += d
		total += each
	}
	if total != 100 {
		t.Errorf("%d latencies are in native buckets, want 100", total)
	}
}

// A real Prometheus scrapes the metrics, and returns the run's figures.
func TestLoadPrometheus(t *testing.T) {
	t.Parallel()
	path, err := exec.LookPath("prometheus")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("no prometheus: apt-get install prometheus")
		}
		t.Skip("no prometheus: apt-get install prometheus")
	}
	free := func() string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return l.Addr().String()
	}
	web, scraped := free(), free()
	folder := t.TempDir()
	config := filepath.Join(folder, "prometheus.yml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "scrape_configs:\n- job_name: scraped\n  scrape_interval: 200ms\n  scrape_timeout: 200ms\n  static_configs:\n  - targets: [%q]\n", scraped), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, path, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(folder, "data"), "--web.listen-address="+web,
		"--enable-feature=native-histograms")
	var output strings.Builder
	cmd.Stderr = &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cancel()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(output.String())
		}
	}()
	// until waits for up to 30 s.
	until := func(what string, ok func() bool) {
		t.Helper()
		for range 300 {
			if ok() {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Fatalf("Prometheus: no %s after 30 s", what)
	}
	until("readiness", func() bool {
		response, err := http.Get("http://" + web + "/-/ready")
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
	asked := func(query string) string {
		response, err := http.Get("http://" + web + "/api/v1/query?query=" + url.QueryEscape(query))
		if err != nil {
			return err.Error()
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		var answer struct {
			Data struct{ Result []struct{ Value [2]any } }
		}
		if err := json.Unmarshal(text, &answer); err != nil || len(answer.Data.Result) != 1 {
			return string(text)
		}
		return fmt.Sprint(answer.Data.Result[0].Value[1])
	}
	e, err := openExport(scraped)
	if err != nil {
		t.Fatal(err)
	}
	loaded(t, e.told)
	for query, want := range map[string]string{
		`histogram_count(postage_load_latency_seconds{job="scraped"})`:         "100", // the native one
		`postage_load_answers_total{job="scraped",status="418"}`:               "25",
		`postage_load_failures_total{job="scraped",reason="status 418"}`:       "25",
		`histogram_quantile(1, postage_load_latency_seconds{job="scraped"})>0`: "",
	} {
		until(query, func() bool {
			got := asked(query)
			return got == want || want == "" && !strings.Contains(got, "{")
		})
	}
	if err := e.close(); err != nil {
		t.Fatal(err)
	}
}

// An address that cannot be listened on is said at once.
func TestLoadPrometheusRefused(t *testing.T) {
	if _, err := openExport("nowhere"); err == nil || !strings.Contains(err.Error(), "--prometheus: listen tcp") {
		t.Error(err)
	}
}
