package kube_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"postage/internal/kube"
)

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

// A pod's state is said in words, with the last lines of a log that ended badly.
func TestStateOf(t *testing.T) {
	container := func(s corev1.ContainerState) corev1.PodStatus {
		return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: s}}}
	}
	for _, r := range []struct {
		status       corev1.PodStatus
		state, ended string
	}{
		{corev1.PodStatus{}, "", ""},
		{corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes"}}}, "waits for a node: 0/3 nodes", ""},
		{container(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}}), "waits: ImagePullBackOff: no such image", ""},
		{container(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}), "runs on n1", ""},
		{container(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}), "", ""},
		{container(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}}), "", "its pod on n1 ended with status 137 (OOMKilled)"},
		{container(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 2, Reason: "Error", Message: "1\n2\n3\n4\n5\nlast\n"}}), "", "its pod on n1 ended with status 2: 2\n3\n4\n5\nlast"},
	} {
		state, ended := kube.StateOf(&corev1.Pod{Spec: corev1.PodSpec{NodeName: "n1"}, Status: r.status})
		if state != r.state || ended != r.ended {
			t.Errorf("%+v: %q, %q; want %q, %q", r.status, state, ended, r.state, r.ended)
		}
	}
}
