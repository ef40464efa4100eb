package kube_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"postage/internal/kube"
)

// Commands that start in the same moment, of a pipeline or of several people, make Jobs of their
// own: a Job whose name is taken is refused.
func TestNamesDiffer(t *testing.T) {
	taken := map[string]bool{}
	for range 1000 {
		name := (&kube.Spec{Label: "postage-load"}).Job(func(string) (v corev1.VolumeSource) { return v }).Name
		if faults := validation.IsDNS1123Label(name + "-99-abcde"); taken[name] || len(faults) > 0 {
			t.Fatalf("%s: taken: %v, %q", name, taken[name], faults)
		}
		taken[name] = true
	}
}

// An API server that has just started refuses what it allows a moment later. The real one can't be
// made to do that at a given time.
func TestDeleteRefused(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if asked.Add(1) == 1 {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`))
			return
		}
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Success"}`))
	}))
	defer server.Close()
	client, err := kube.Connect(&rest.Config{Host: server.URL}, "default")
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Delete(t.Context(), "job"); err != nil || asked.Load() != 2 {
		t.Errorf("%v, asked %d times", err, asked.Load())
	}
}
