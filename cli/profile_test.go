package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	httppprof "net/http/pprof"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"postage/internal/profile"
)

// A server that does nothing but decode JSON is profiled, with its allocations and with a header
// field; saved profiles give the same, and compared with themselves nothing moved.
func TestProfileServer(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(collectors.MetricsGC, collectors.GoRuntimeMetricsRule{Matcher: regexp.MustCompile("/cpu/classes/gc/total.*")})))
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/debug/pprof/profile", httppprof.Profile)
	mux.Handle("/debug/pprof/allocs", httppprof.Handler("allocs"))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "k" {
			http.Error(w, "who are you?", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	defer server.Close()
	text, err := json.Marshal(make([]struct{ A, B, C string }, 1000))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	defer func() { done <- struct{}{} }()
	go func() {
		for {
			select {
			case <-done:
				return
			default:
				var v []struct{ A, B, C string }
				_ = json.Unmarshal(text, &v)
			}
		}
	}()
	run := func(args ...string) (string, string, int) {
		var out, said bytes.Buffer
		code := postage.run(t.Context(), append([]string{"profile"}, args...), strings.NewReader(""), &out, &said)
		return out.String(), said.String(), code
	}
	if _, said, code := run(server.URL, "--seconds", "1"); code != exitUsage || !strings.Contains(said, `403 Forbidden: "who are you?`) {
		t.Errorf("without its header: %d: %s", code, said)
	}
	out, said, code := run(server.URL, "--seconds", "2", "-H", "X-Key: k", "--json")
	var s profile.Summary
	if err := json.Unmarshal([]byte(out), &s); code != exitOK || err != nil {
		t.Fatalf("%d: %v: %s", code, err, said)
	}
	if s.Samples < 20 || len(s.Sites) == 0 || s.Sites[0].String() != "decode JSON" || s.Sites[0].Garbage == nil {
		t.Errorf("%d samples, sites %+v", s.Samples, s.Sites)
	}
	if m := s.Metrics; runtime.GOOS == "linux" && (m == nil || m.Cores <= 0 || m.Garbage == nil || *m.Garbage >= 1 || m.GarbageNS == nil) {
		t.Errorf("metrics %+v", m)
	}
	if len(s.Sites[0].Savings) == 0 || s.Sites[0].Savings[0].From == "" {
		t.Errorf("savings %+v", s.Sites[0].Savings)
	}
	file := filepath.Join(t.TempDir(), "cpu.pprof")
	saveProfile(t, server.URL+"/debug/pprof/profile?seconds=1", file)
	if out, said, code = run(file); code != exitOK || !strings.Contains(out, "decode JSON") || !strings.Contains(out, "Garbage is not shared out") {
		t.Errorf("%d: %s%s", code, out, said)
	}
	if out, said, code = run(file, "--against", file, "--requests", "1000,1000"); code != exitOK || !strings.Contains(out, "in ns a request") {
		t.Errorf("%d: %s%s", code, out, said)
	}
	if _, said, code = run(file, "--against", file, "--requests", "1000"); code != exitUsage || !strings.Contains(said, "--requests: want") {
		t.Errorf("%d: %s", code, said)
	}
}

func saveProfile(t *testing.T, url, file string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Key", "k")
	response, err := (&http.Client{Timeout: time.Minute}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(response.Body); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}
