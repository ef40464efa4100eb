package fleet

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
)

// Why pods do not run is said at the first look at a Job that has not begun, once. (TestFleet/image
// shows the same on a cluster.)
func TestReasonsOfPods(t *testing.T) {
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "none:1: not found"}}
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: waiting}}}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any = &batchv1.Job{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}}
		switch {
		case strings.Contains(r.URL.Path, "/configmaps/"):
			answer = &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, Data: map[string]string{"plan": `{"Workers": 3}`}}
		case strings.HasSuffix(r.URL.Path, "/pods"):
			answer = &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: []corev1.Pod{pod, pod}}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}))
	defer server.Close()
	c, err := connect(&rest.Config{Host: server.URL}, "default")
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	f := c.follower("j", func(text string) { said = append(said, text) })
	for range 2 {
		if err := f.look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(said) != 1 || said[0] != "the pod p: waits: ErrImagePull: none:1: not found" {
		t.Errorf("%q", said)
	}
	f.told = time.Now().Add(-3 * quiet) // two pods, and a quota has no room for the third
	if err := f.look(t.Context()); err != nil || len(said) != 3 || said[2] != "there are 2 of 3 pods: kubectl describe job j -n default says why" {
		t.Errorf("%v, %q", err, said)
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
	client, err := connect(&rest.Config{Host: server.URL}, "default")
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Delete(t.Context(), "job"); err != nil || asked.Load() != 2 {
		t.Errorf("%v, asked %d times", err, asked.Load())
	}
}

// Why a pod does not run is said in words, with the last lines of a log that ended badly.
func TestTrouble(t *testing.T) {
	container := func(s corev1.ContainerState) corev1.PodStatus {
		return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: s}}}
	}
	ended := func(s corev1.ContainerStateTerminated) corev1.PodStatus {
		return container(corev1.ContainerState{Terminated: &s})
	}
	unplaced := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes"}
	for _, r := range []struct {
		status corev1.PodStatus
		want   string
	}{
		{corev1.PodStatus{}, ""},
		{corev1.PodStatus{Conditions: []corev1.PodCondition{unplaced}}, "waits for a node: 0/3 nodes"},
		{container(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}), ""},
		{ended(corev1.ContainerStateTerminated{}), ""},
		{ended(corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}), "ended on n1 with status 137: OOMKilled:"},
		{ended(corev1.ContainerStateTerminated{ExitCode: 2, Reason: "Error", Message: "1\n2\n3\n4\n5\nlast\n"}), "ended on n1 with status 2: Error: 2\n3\n4\n5\nlast"},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "n1"}, Status: r.status}
		if got := podProblem(pod); got != r.want {
			t.Errorf("%+v: %q, want %q", r.status, got, r.want)
		}
	}
}

// A worker whose clock is an hour off says so in place of sending nothing, or an hour too late.
func TestClockOfWorker(t *testing.T) {
	for off, want := range map[time.Duration]string{
		-time.Hour: "clock is 1h0m0s ahead of the API server's", time.Hour: "clock is 1h0m0s behind the API server's", 0: "",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(&corev1.ConfigMap{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(time.Now().Add(off))},
			})
		}))
		c, err := connect(&rest.Config{Host: server.URL}, "default")
		if err != nil {
			t.Fatal(err)
		}
		w := &worker{client: c, job: new(batchv1.Job), name: "w"}
		err = w.checkClock(t.Context())
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", off, err, want)
		}
		server.Close()
	}
}

// Commands that start in the same moment, of a pipeline or of several people, make Jobs of their
// own: a Job whose name is taken is refused.
func TestNamesDiffer(t *testing.T) {
	taken := map[string]bool{}
	for range 1000 {
		name := new(Plan).job().Name
		if faults := validation.IsDNS1123Label(name + "-99-abcde"); taken[name] || len(faults) > 0 {
			t.Fatalf("%s: taken: %v, %q", name, taken[name], faults)
		}
		taken[name] = true
	}
}
