package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// A server's CPU time, allocations and garbage collections are those between a run's begin and end,
// by its own metrics, and its process's CPU time as /proc has it.
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
	for _, flag := range [][]string{{"--server", server.URL + "/metrics"}, {"--server", fmt.Sprint(os.Getpid())}} {
		out, err := commanded(t, append(flag, "--conns", "1", "--rate", "100", "--duration", "1s", "--json", server.URL+"/")...)
		if err != nil && !errors.Is(err, errFailedRow) { // a busy machine
			t.Fatal(err)
		}
		var r struct {
			Requests float64
			Server   map[string]float64
		}
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err)
		}
		if r.Requests != 100 || r.Server["cpu"] <= 0 || r.Server["cpu"] > 30e9 {
			t.Errorf("%s: %s", flag[0], out)
		}
		_, collected := r.Server["collections"]
		if s := r.Server; strings.Contains(flag[1], "/metrics") && (s["bytes"] < 100*100_000 || s["allocs"] < 100 || !collected) {
			t.Errorf("%+v", s)
		}
	}
	for flag, want := range map[string]string{"--server=4194304": "no such process", "--server=" + server.URL + "/": "parsing error", "--server=nginx": "want the number of a process"} {
		if _, err := commanded(t, flag, server.URL+"/"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", flag, err)
		}
	}
}
