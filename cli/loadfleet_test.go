package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// What a fleet cannot do is refused with a sentence that names it, before anything is asked of a
// cluster.
func TestFleetRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"--rate max":          "--rate max is not possible with --kubernetes: ",
		"--slo p99<5ms":       "--slo is not possible with --kubernetes: ",
		"--replay access.log": "--replay is not possible with --kubernetes: ",
		"--csv out.csv":       "--csv, --hdr-log or --prometheus is not possible with --kubernetes: ",
		"--hdr-log out.hlog":  "--csv, --hdr-log or --prometheus is not possible with --kubernetes: ",
		"--prometheus :9464":  "--csv, --hdr-log or --prometheus is not possible with --kubernetes: ",
		"--workers 0":         "--workers must be at least 1",
		"--attach job":        "--attach takes over a Job as it was begun",
		"--arrivals poisson":  "kubeconfig: ", // is possible: only the cluster is missing
	} {
		var said strings.Builder
		all := append([]string{"load", "--kubernetes", "--kubeconfig", "/none"}, strings.Fields(args)...)
		code := postage.run(t.Context(), append(all, "http://localhost:1/"), strings.NewReader(""), io.Discard, &said)
		if code != exitUsage || !strings.Contains(said.String(), want) {
			t.Errorf("%s: %d, %q", args, code, &said)
		}
	}
}

// The workers of a fleet divide the rate of the warm-up too.
func TestFleetWarmUp(t *testing.T) {
	var served atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served.Add(1) }))
	defer s.Close()
	t.Setenv("KUBERNETES_SERVICE_HOST", "") // not in a pod: it ends after the warm-up
	code := postage.run(t.Context(), []string{"load", "--kubernetes-worker", "--workers", "4", "--rate", "40", "--warm-up", "1s", s.URL}, strings.NewReader(""), io.Discard, io.Discard)
	if code != exitUsage || served.Load() != 10 {
		t.Errorf("exit code %d, %d requests: want 10", code, served.Load())
	}
}
