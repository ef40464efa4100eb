package kubernetes_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"postage/internal/service/apiserver"
	"postage/internal/service/kubernetes"
)

// started starts a cluster for one test. Where that is not possible the test is skipped, but not in
// CI.
func started(t *testing.T) *kubernetes.Cluster {
	t.Helper()
	if os.Getenv("POSTAGE_LONG") == "" {
		t.Skip("starts a cluster: POSTAGE_LONG=1")
	}
	why := ""
	if err := kubernetes.Missing(); err != nil {
		why = err.Error()
	} else if !apiserver.Built(apiserver.Kubernetes) {
		why = "its programs are not built: go run ./internal/service/apiserver/buildserver kubernetes"
	}
	if why != "" {
		if os.Getenv("CI") == "true" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	c, err := kubernetes.Start(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// The programs of a cluster run, and nothing of it is left when it has been stopped.
func TestCluster(t *testing.T) {
	c := started(t)
	for _, name := range []string{"apiserver", "controllers", "scheduler", "containerd", "kubelet"} {
		if _, err := c.PID(name); err != nil {
			t.Error(err)
		}
	}
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(c.Kubeconfig)
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range processes {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), dir) {
			t.Errorf("left behind: %s: %q", file, text)
		}
	}
	if groups, _ := filepath.Glob("/sys/fs/cgroup/*/" + filepath.Base(dir)); len(groups) > 0 {
		t.Errorf("left behind: %q", groups)
	}
}
