package kubetest

import (
	"strings"
	"syscall"
	"testing"
)

// A cluster's faults, one after the other: each ends with a true account.
func TestFleetFaults(t *testing.T) {
	b := newBed(t)
	t.Run("two attach", b.twoAttach)
	t.Run("quota", b.quota)
	t.Run("drain", b.drain)
	t.Run("slow API server", b.slowServer)
	t.Run("containerd killed", b.containerdKilled)
}

// Two commands take over the same Job: both have its whole result, and its start is published once.
func (b *bed) twoAttach(t *testing.T) {
	s := serve(t, 0, 0)
	first := b.fleet(t, "--workers", "2", "--rate", "100", "--duration", "8s", s.url)
	job := first.says(t, jobOf)
	b.takeOver(t, first)
	both := [2]*command{b.load(t, "--attach", job), b.load(t, "--attach", job)}
	for _, c := range both {
		s.complete(t, c, 800)
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
	s.complete(t, c, 300)
}

// The node is drained: no pod may come, and one is evicted. What it had sent is known, and its
// successor continues when the node takes pods again.
func (b *bed) drain(t *testing.T) {
	s, c, job := b.sending(t, "25s")
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
	s, c, _ := b.sending(t, "15s")
	b.signal(t, "apiserver", syscall.SIGSTOP)
	c.says(t, "the cluster does not answer; workers that run continue")
	b.signal(t, "apiserver", syscall.SIGCONT)
	c.says(t, "the cluster answers again")
	s.complete(t, c, 1500)
}

// containerd is killed. The workers run on without it, and report.
func (b *bed) containerdKilled(t *testing.T) {
	s, c, job := b.sending(t, "10s")
	b.signal(t, "containerd", syscall.SIGKILL)
	s.complete(t, c, 1000)
	b.gone(t, job)
}
