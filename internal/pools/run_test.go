package pools

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"postage/internal/kube"
)

// answers is a cluster that always answers the same of a Job.
type answers struct {
	job     batchv1.Job
	pods    []corev1.Pod
	maps    []corev1.ConfigMap
	silent  bool // it does not answer that the Job was made
	deleted atomic.Int64
}

func (a *answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var answer any
	switch parts := strings.Split(r.URL.Path, "/"); {
	case r.Method == http.MethodPost && a.silent:
		panic(http.ErrAbortHandler)
	case r.Method == http.MethodDelete:
		a.deleted.Add(1)
		answer = metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess}
	case parts[2] == "v1" && parts[len(parts)-1] == "pods":
		answer = corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, Items: a.pods}
	case parts[len(parts)-1] == "configmaps":
		answer = corev1.ConfigMapList{TypeMeta: metav1.TypeMeta{Kind: "ConfigMapList", APIVersion: "v1"}, Items: a.maps}
	default:
		a.job.TypeMeta = metav1.TypeMeta{Kind: "Job", APIVersion: "batch/v1"}
		answer = a.job
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// However a Job ends, it is deleted, and what there is comes back.
func TestRun(t *testing.T) {
	sent, err := split([]byte("the record"))
	if err != nil {
		t.Fatal(err)
	}
	partial := sent[0].DeepCopy()
	partial.Data[partialKey] = "true"
	failed := batchv1.Job{Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Message: "the Job was too slow"}}}}
	crashed := corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: 2, Message: "postage: no such row"},
	}}}}}
	said := corev1.ConfigMap{Data: map[string]string{saidKey: "1 of 4 cases done"}}
	for name, r := range map[string]struct {
		cluster         *answers
		file, err, said string
	}{
		"a record":             {&answers{maps: []corev1.ConfigMap{said, *sent[0]}}, "the record", "", "1 of 4 cases done"},
		"part of a record":     {&answers{job: failed, maps: []corev1.ConfigMap{*partial}}, "the record", "its pod was ended before it had finished", ""},
		"a pod that failed":    {&answers{job: failed, pods: []corev1.Pod{crashed}}, "", "ended with status 2: postage: no such row", ""},
		"a Job that failed":    {&answers{job: failed}, "", "the Job was too slow", ""},
		"no answer, but a Job": {&answers{silent: true}, "", "make a Job in namespace n", ""},
		"an interruption":      {&answers{}, "", "interrupted", ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(r.cluster)
			t.Cleanup(server.Close)
			open, err := kube.Connect(&rest.Config{Host: server.URL}, "n")
			if err != nil {
				t.Fatal(err)
			}
			c := &Client{open}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if r.err == "interrupted" {
				r.cluster.pods = []corev1.Pod{{Spec: corev1.PodSpec{NodeName: "n1"}, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}}}}
			}
			var told []string
			p := &Plan{Pools: []Pool{{"a", "type", "a"}}}
			file, err := c.Run(ctx, p, p.Pools[0], func(text string) {
				told = append(told, text)
				if text == "runs on n1" {
					cancel()
				}
			})
			if string(file) != r.file || (err == nil) != (r.err == "") || err != nil && !strings.Contains(err.Error(), r.err) {
				t.Errorf("%q, %v; want %q, %s", file, err, r.file, r.err)
			}
			if r.said != "" && (len(told) != 1 || told[0] != r.said) {
				t.Errorf("told %q, want %q", told, r.said)
			}
			if n := r.cluster.deleted.Load(); n != 1 {
				t.Errorf("deleted %d times", n)
			}
		})
	}
}
