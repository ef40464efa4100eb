package pools

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"postage/internal/kube"
)

// A file comes back whole from its pieces, in whatever order they are listed; not before all have
// come, and not if one was changed.
func TestPieces(t *testing.T) {
	was := pieceBytes
	pieceBytes = 1000
	t.Cleanup(func() { pieceBytes = was })
	file := make([]byte, 12_345) // which cannot be compressed
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range file {
		file[i] = byte(rng.Uint32())
	}
	sent, err := split(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(sent) < 12 {
		t.Fatalf("%d pieces of at most %d bytes", len(sent), pieceBytes)
	}
	pieces := func() (all []corev1.ConfigMap) {
		for _, i := range rng.Perm(len(sent)) {
			if n := len(sent[i].BinaryData[pieceKey]); n == 0 || n > pieceBytes {
				t.Errorf("a piece of %d bytes", n)
			}
			all = append(all, *sent[i].DeepCopy())
		}
		return all
	}
	if got, err := join(pieces()); err != nil || !bytes.Equal(got, file) {
		t.Errorf("%d bytes came back of %d: %v", len(got), len(file), err)
	}
	if got, err := join(pieces()[1:]); got != nil || err != nil {
		t.Errorf("with a piece missing: %d bytes, %v", len(got), err)
	}
	if got, err := join(nil); got != nil || err != nil {
		t.Errorf("without pieces: %d bytes, %v", len(got), err)
	}
	changed := pieces()
	changed[3].BinaryData[pieceKey][500] ^= 1
	if got, err := join(changed); err == nil {
		t.Errorf("with a piece changed: %d bytes", len(got))
	}
	other := pieces() // whole, but not what was sent
	for i := range other {
		other[i].Data[sumKey] = strings.Repeat("0", 64)
	}
	if _, err := join(other); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("with another checksum: %v", err)
	}
}

// A cluster's nodes are listed only for a label without values.
func TestPools(t *testing.T) {
	listed := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		listed = r.URL.Query().Get("labelSelector")
		w.Header().Set("Content-Type", "application/json")
		switch listed {
		case "example.com/type":
			_, _ = w.Write([]byte(`{"kind":"NodeList","apiVersion":"v1","items":[
				{"metadata":{"labels":{"example.com/type":"large"}}},{"metadata":{"labels":{"example.com/type":"huge"}}},{"metadata":{"labels":{"example.com/type":"large"}}}]}`))
		case "forbidden":
			w.WriteHeader(http.StatusForbidden)
		default:
			_, _ = w.Write([]byte(`{"kind":"NodeList","apiVersion":"v1","items":[]}`))
		}
	}))
	t.Cleanup(server.Close)
	open, err := kube.Connect(&rest.Config{Host: server.URL}, "default")
	if err != nil {
		t.Fatal(err)
	}
	c := &Client{open}
	for _, r := range []struct {
		labels []string
		want   string // names, or the error
		lists  string
	}{
		{[]string{"example.com/type"}, "huge large", "example.com/type"},
		{[]string{"example.com/type=a,b"}, "a b", ""},
		{[]string{"example.com/type=a", "disk=a,ssd"}, "example.com_type=a disk=a ssd", ""},
		{[]string{"other"}, "no node has a value of the label other", "other"},
		{[]string{"forbidden"}, "forbidden=VALUE,VALUE needs no right", "forbidden"},
		{[]string{"disk=a", "disk=a"}, "the pool disk=a is named twice", ""},
		{[]string{"disk="}, "want disk=value,value", ""},
		{[]string{"disk=a,"}, "want disk=value,value", ""},
		{[]string{"disk=../a"}, `"../a" is not a label's value`, ""},
		{[]string{"a b"}, `"a b" is not a label of nodes`, ""},
	} {
		listed = ""
		found, err := c.Pools(t.Context(), r.labels)
		var names []string
		for _, p := range found {
			names = append(names, p.Name)
		}
		got := strings.Join(names, " ")
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != r.want || !strings.Contains(got, r.want) || listed != r.lists {
			t.Errorf("%q: %s, listed %q; want %s, %q", r.labels, got, listed, r.want, r.lists)
		}
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

// Each pool's Job has one pod, on its nodes only, with whole processors, that is never tried again
// and cannot run for ever.
func TestJob(t *testing.T) {
	p := &Plan{Pools: []Pool{{"a", "type", "a"}, {"b", "type", "b"}, {"c", "disk", "c"}}, Image: "i", CPU: 3, Budget: time.Hour, Args: []string{"run", "x"}}
	names := map[string]bool{}
	for _, pool := range p.Pools {
		job := p.job(pool)
		names[job.Name] = true
		spec := job.Spec.Template.Spec
		if len(spec.NodeSelector) != 1 || spec.NodeSelector[pool.Key] != pool.Value || spec.RestartPolicy != corev1.RestartPolicyNever || *job.Spec.BackoffLimit != 0 {
			t.Errorf("%+v", job.Spec)
		}
		if want := int64((2*time.Hour + patience).Seconds()); *job.Spec.ActiveDeadlineSeconds != want { // two labels: one may wait for the other
			t.Errorf("a deadline of %d s, want %d", *job.Spec.ActiveDeadlineSeconds, want)
		}
		c := spec.Containers[0]
		if cpu := c.Resources.Limits.Cpu(); cpu.Value() != 3 || !cpu.Equal(*c.Resources.Requests.Cpu()) || !slices.Equal(c.Args, p.Args) {
			t.Errorf("%+v", c)
		}
	}
	if len(names) != len(p.Pools) {
		t.Errorf("Jobs named %v", names)
	}
}
