package kubetest

import (
	"strings"
	"syscall"
	"testing"
)

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
	b.must(t, "create", "quota", "few", "--hard=pods=0")
	for _, most := range []string{"0", "1"} {
		b.must(t, "patch", "quota", "few", "--patch", `{"spec":{"hard":{"pods":"`+most+`"}}}`)
		await(t, "known to admission: "+most, func() bool {
			_, err := b.kubectl(t.Context(), "run", "one", "--image="+image, "--dry-run=server")
			return (err == nil) == (most == "1")
		})
	}
	s := serve(t, 0, 0)
	c := b.fleet(t, "--workers", "2", "--rate", "100", "--duration", "3s", s.url)
	job := c.says(t, jobOf)
	c.says(t, `there are 1 of 2 pods: kubectl describe job `+job)
	b.must(t, "delete", "quota", "few")
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
	b.must(t, "drain", b.address, "--pod-selector=postage-load="+job+",batch.kubernetes.io/job-completion-index=0")
	c.says(t, `worker \d \(\S+\) has not reported for`)
	b.must(t, "uncordon", b.address)
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
