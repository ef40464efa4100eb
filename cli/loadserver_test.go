package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"postage/internal/link"
)

// A server's CPU time, allocations and garbage collections are those between a run's begin and end,
// by its own metrics, and its process's CPU time is that of /proc.
func TestLoadServerFigures(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewGoCollector())
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		for begin := time.Now(); time.Since(begin) < 2*time.Millisecond; {
		}
		_, _ = w.Write(make([]byte, 100_000))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	for _, flag := range [][]string{{"--server-metrics", server.URL + "/metrics"}, {"--server-pid", fmt.Sprint(os.Getpid())}} {
		var out bytes.Buffer
		cmd := loadCommand()
		cmd.SilenceUsage, cmd.SilenceErrors = true, true
		cmd.SetOut(&out)
		cmd.SetErr(t.Output())
		cmd.SetArgs(append(flag, "--conns", "1", "--rate", "100", "--duration", "1s", "--json", server.URL+"/"))
		if err := cmd.ExecuteContext(t.Context()); err != nil && !errors.Is(err, errFailedRow) { // a busy machine
			t.Fatal(err)
		}
		var r struct {
			Requests float64
			Server   struct {
				CPU         float64  `json:"cpu_s"`
				Bytes       *float64 `json:"allocated_bytes"`
				Allocations *float64 `json:"allocations"`
				Collections *float64 `json:"collections"`
			}
		}
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if r.Requests != 100 || r.Server.CPU <= 0 || r.Server.CPU > 30 {
			t.Errorf("%s: %s", flag[0], &out)
		}
		if s := r.Server; flag[0] == "--server-metrics" && (s.Bytes == nil || *s.Bytes < 100*100_000 || *s.Allocations < 100 || s.Collections == nil) {
			t.Errorf("%+v", s)
		}
	}
	for flag, want := range map[string]string{"--server-pid=4194304": "no such process", "--server-metrics=" + server.URL + "/": "parsing error"} {
		cmd := loadCommand()
		cmd.SilenceUsage, cmd.SilenceErrors = true, true
		cmd.SetArgs([]string{flag, server.URL + "/"})
		cmd.SetErr(t.Output())
		cmd.SetOut(t.Output())
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

// With --link, answers of the built-in server take a round trip by each protocol.
func TestLoadLink(t *testing.T) {
	for _, proto := range []string{"http1", "http2", "http3", "grpc", "grpc --tls"} {
		cmd := exec.CommandContext(t.Context(), built(t), append([]string{"load", "--link", "rtt=20ms,rate=50mbit", "--conns", "1", "--rate", "50", "--duration", "400ms", "--json", "--proto"}, strings.Fields(proto)...)...)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if strings.Contains(errs.String(), link.ErrNotPossible.Error()) && os.Getenv("CI") == "" {
			t.Skip(errs.String())
		}
		var r struct {
			Failed  int
			Valid   bool                     `json:"latency_valid"` // not if the machine was too busy
			Latency map[string]time.Duration `json:"latency_ns"`
		}
		if bad := json.Unmarshal(out, &r); bad != nil {
			t.Fatal(proto, err, bad, &errs)
		}
		if took := r.Latency["p50"]; r.Failed != 0 || r.Valid && took < 20*time.Millisecond*999/1000 { // the histogram has three digits
			t.Errorf("%s: half of the answers within %v, %d failed", proto, took, r.Failed)
		}
	}
}
