package kubetest

import (
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"postage/internal/kube/api"
)

// signal sends a signal to one of the node's programs.
func (b *bed) signal(t *testing.T, program string, signal syscall.Signal) {
	t.Helper()
	pid, err := b.PID(program)
	if err == nil {
		err = syscall.Kill(pid, signal)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A cluster's faults, one after the other: each ends with a true account.
func TestFleetFaults(t *testing.T) {
	b := newBed(t)
	t.Run("two fleets", b.twoFleets)
	t.Run("two attach", b.twoAttach)
	t.Run("quota", b.quota)
	t.Run("drain", b.drain)
	t.Run("slow API server", b.slowServer)
	t.Run("containerd killed", b.containerdKilled)
}

// Two fleets at a time know nothing of each other.
func (b *bed) twoFleets(t *testing.T) {
	var servers [2]*server
	var commands [2]*command
	for i := range commands {
		servers[i] = serve(t, 0, 0)
		commands[i] = b.fleet(t, "--workers", "2", "--rate", "100", "--duration", "5s", servers[i].url)
	}
	for i, c := range commands {
		r := c.result(t, 0)
		servers[i].account(t, r, 500, 0)
		if r.Requests != 500 || r.Failed != 0 || r.NotSent != 0 || servers[i].served.Load() != 500 {
			t.Errorf("fleet %d: %d answered, %d failed, %d not sent, %d served", i, r.Requests, r.Failed, r.NotSent, servers[i].served.Load())
		}
	}
}

// Two commands take over the same Job: both have its whole result, and its start is published once.
func (b *bed) twoAttach(t *testing.T) {
	s := serve(t, 0, 0)
	first := b.fleet(t, "--workers", "2", "--rate", "100", "--duration", "8s", s.url)
	job := first.says(t, jobOf)
	b.takeOver(t, first)
	both := [2]*command{b.load(t, "--attach", job), b.load(t, "--attach", job)}
	for _, c := range both {
		if r := c.result(t, 0); r.Requests != 800 || r.NotSent != 0 || r.Failed != 0 {
			t.Errorf("%d answered, %d not sent, %d failed", r.Requests, r.NotSent, r.Failed)
		}
	}
	if n := s.served.Load(); n != 800 {
		t.Errorf("%d served, want 800", n)
	}
	b.gone(t, job)
}

// A quota leaves room for one of two pods. The command says that one is missing and where the
// reason is; when there is room, the fleet begins.
func (b *bed) quota(t *testing.T) {
	quotas := api.ConfigMaps.In(b.Client, "default").GetClient()
	limit := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "few"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}}}
	if err := quotas.Post().Namespace("default").Resource("resourcequotas").Body(limit).Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "one"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "one", Image: image}}}}
	for _, most := range []string{"0", "1"} {
		// What the controller of quotas would write: it does not run here.
		status := []byte(`{"status":{"hard":{"pods":"` + most + `"},"used":{"pods":"0"}}}`)
		if err := quotas.Patch(types.MergePatchType).Namespace("default").Resource("resourcequotas").Name("few").SubResource("status").Body(status).Do(t.Context()).Error(); err != nil {
			t.Fatal(err)
		}
		await(t, "known to admission: "+most, func() bool {
			_, err := api.Pods.In(b.Client, "default").Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			return (err == nil) == (most == "1")
		})
	}
	s := serve(t, 0, 0)
	c := b.fleet(t, "--workers", "2", "--rate", "100", "--duration", "3s", s.url)
	job := c.says(t, jobOf)
	c.says(t, `there are 1 of 2 pods: kubectl describe job `+job)
	if err := quotas.Delete().Namespace("default").Resource("resourcequotas").Name("few").Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	r := c.result(t, 0)
	s.account(t, r, 300, 0)
	if r.Requests != 300 || r.NotSent != 0 {
		t.Errorf("%d answered, %d not sent", r.Requests, r.NotSent)
	}
}

// The node is drained: no pod may come, and one is evicted. What it had sent is known, and its
// successor continues when the node takes pods again.
func (b *bed) drain(t *testing.T) {
	s := serve(t, 0, 0)
	c := b.fleet(t, "--workers", "2", "--rate", "100", "--duration", "25s", s.url)
	job := c.says(t, jobOf)
	await(t, "sending", func() bool { return s.served.Load() > 100 })
	cordon := func(yes string) {
		t.Helper()
		_, err := api.Nodes.In(b.Client, "").Patch(t.Context(), "node1", types.MergePatchType, []byte(`{"spec":{"unschedulable":`+yes+`}}`), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	cordon("true")
	pods, err := api.Pods.In(b.Client, "default").List(t.Context(), metav1.ListOptions{LabelSelector: "postage-load=" + job})
	if err != nil || len(pods.Items) != 2 {
		t.Fatalf("%v, %d pods", err, len(pods.Items))
	}
	name := pods.Items[0].Name
	eviction := []byte(`{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"` + name + `"}}`)
	err = api.Pods.In(b.Client, "default").GetClient().Post().Namespace("default").Resource("pods").Name(name).SubResource("eviction").
		SetHeader("Content-Type", "application/json").Body(eviction).Do(t.Context()).Error()
	if err != nil {
		t.Fatal(err)
	}
	c.says(t, `worker \d \(\S+\) has not reported for`)
	cordon("false")
	c.says(t, `worker \d reports again: `)
	r := c.result(t, 0)
	s.account(t, r, 2500, 0)
	if said := c.said.String(); r.NotSent == 0 || strings.Count(said, "was ended early, and has reported everything") != 1 {
		t.Errorf("%d not sent", r.NotSent)
	}
}

// The API server stands still for longer than the command waits for an answer. Nothing is lost.
func (b *bed) slowServer(t *testing.T) {
	s := serve(t, 0, 0)
	c := b.fleet(t, "--workers", "2", "--rate", "100", "--duration", "15s", s.url)
	c.says(t, jobOf)
	await(t, "sending", func() bool { return s.served.Load() > 100 })
	b.signal(t, "apiserver", syscall.SIGSTOP)
	c.says(t, "the cluster does not answer; workers that run continue")
	b.signal(t, "apiserver", syscall.SIGCONT)
	c.says(t, "the cluster answers again")
	r := c.result(t, 0)
	s.account(t, r, 1500, 0)
	if r.Requests != 1500 || r.NotSent != 0 || s.served.Load() != 1500 {
		t.Errorf("%d answered, %d not sent, %d served", r.Requests, r.NotSent, s.served.Load())
	}
}

// containerd is killed. The workers run on without it, and report.
func (b *bed) containerdKilled(t *testing.T) {
	s := serve(t, 0, 0)
	c := b.fleet(t, "--workers", "2", "--rate", "100", "--duration", "10s", s.url)
	job := c.says(t, jobOf)
	await(t, "sending", func() bool { return s.served.Load() > 100 })
	b.signal(t, "containerd", syscall.SIGKILL)
	r := c.result(t, 0)
	s.account(t, r, 1000, 0)
	if r.Requests != 1000 || r.NotSent != 0 || s.served.Load() != 1000 {
		t.Errorf("%d answered, %d not sent, %d served", r.Requests, r.NotSent, s.served.Load())
	}
	b.gone(t, job)
}
