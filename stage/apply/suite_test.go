package apply

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"postage/internal/service/apiserver"
	"postage/lab"
	"postage/record"
)

// caseNamed returns a case. The test ends if there is none.
func caseNamed(t *testing.T, name string) lab.Case {
	t.Helper()
	server := record.KeysOf(name).Get("server")
	for _, c := range everyCase(apiserver.Kind(server)) {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("there is no case %s", name)
	panic("not reached")
}

// everyCase has the cases of a server with every setting but those that need another one.
func everyCase(server apiserver.Kind) []lab.Case {
	return Suite().Made(lab.Choices{"server": {string(server)}, "kind": kindNames(), "inflight": {"1", "8"}, "fsync": {"off", "on"}})
}

// wantError checks that there is an error with the right reason.
func wantError(t *testing.T, err error, reason string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), reason) {
		t.Errorf("error is %v, want one with %q", err, reason)
	}
}

func TestNames(t *testing.T) {
	if err := lab.Check([]lab.Suite{Suite()}); err != nil {
		t.Fatal(err)
	}
	headlines := 0
	for _, c := range Suite().Made(nil) {
		if c.Doc == "" {
			t.Errorf("%s has no Doc", c.Name)
		}
		if c.Headline {
			headlines++
		}
	}
	if headlines != 2 {
		t.Errorf("%d headline cases, want 2", headlines)
	}
}

// Every content type is proven on the wire for every operation and kind that the server has. Every
// serializer is proven too.
func TestEveryContenderProves(t *testing.T) {
	for _, c := range everyCase(testServer()) {
		t.Run(strings.TrimPrefix(c.Name, "Apply/"), func(t *testing.T) {
			if c.Service != nil {
				if ofOtherServer(c.Name) {
					t.Skip("is for another server than the one that the tests have started")
				}
				needServer(t)
				if err := shared.Serves(&c, &c.Contenders[0]); err != nil && testServer() == apiserver.User {
					t.Skip(err)
				} else if err != nil {
					t.Fatal(err) // our servers have every kind
				}
			}
			for _, contender := range c.Contenders {
				t.Run(contender.Name, func(t *testing.T) {
					if contender.NotPossible != "" {
						t.Skip(contender.NotPossible)
					}
					works(t, contender)
				})
			}
		})
	}
}

// works opens, proves, runs and closes a contender.
func works(t *testing.T, contender lab.Contender) {
	t.Helper()
	in, err := contender.Open(t.Context(), lab.Env{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Prove(t.Context()); err != nil {
		t.Error(err)
	}
	prepare(t, in)
	before := counters(t, in)
	if err := in.Run(2); err != nil {
		t.Error(err)
	}
	after := counters(t, in)
	// Bytes are counted as they go. A running thread's CPU time is only counted at the kernel's
	// ticks, and two requests may end between two of these.
	for more := 0; more < 100 && after[serverCPU] <= before[serverCPU] && before[serverCPU] > 0; more++ {
		prepare(t, in)
		if err := in.Run(2); err != nil {
			t.Fatal(err)
		}
		after[serverCPU] = counters(t, in)[serverCPU]
	}
	for name, value := range after {
		if value <= before[name] {
			t.Errorf("%s did not grow from %v", name, before[name])
		}
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
}

// serverCPU is the counter of the server's CPU time.
const serverCPU = "server-cpu-ns/op"

func prepare(t *testing.T, in lab.Instance) {
	t.Helper()
	if p, ok := in.(lab.Prepared); ok {
		if err := p.Prepare(); err != nil {
			t.Error(err)
		}
	}
}

func counters(t *testing.T, in lab.Instance) map[string]float64 {
	t.Helper()
	c, ok := in.(lab.Counted)
	if !ok {
		return nil
	}
	counters, err := c.Counters()
	if err != nil {
		t.Error(err)
	}
	return counters
}

// In rows that say so, etcd waits for the disk: such a server starts, and its rows are proven.
func TestFsync(t *testing.T) {
	needServer(t)
	if testServer() == apiserver.User {
		t.Skip("the user's disks are as they are")
	}
	t.Setenv("TMPDIR", "/var/tmp") // which is on a disk where /tmp may be in memory
	started(t, newService(new(serverFlags), testServer(), true))
	c := caseNamed(t, "Apply/server="+string(testServer())+"/fsync=on/op=create/kind=configmap/inflight=1")
	for _, contender := range c.Contenders {
		works(t, contender)
	}
}

// started starts a server for the rest of the test.
func started(t *testing.T, service *lab.Service) {
	t.Helper()
	running, err := service.Start(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := running.Stop(); err != nil {
			t.Error(err)
		}
	})
	for _, v := range running.Environment {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
}

func kindByName(name string) kind { return named(kinds(), name, func(k kind) string { return k.name }) }

func instanceOf(t *testing.T, s spec, as string) *instance {
	t.Helper()
	needServer(t)
	in, err := newInstance(context.Background(), s, byName(as), openThrough)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func one(operation string) spec {
	return spec{server: testServer(), op: opByName(operation), kind: kindByName("configmap"), inflight: 1}
}

// What a server adds to an object is ignored, any other difference is not.
func TestCheckObject(t *testing.T) {
	in := &instance{kind: kindByName("configmap")}
	in.objects = &objects{kind: &in.kind, reach: &in.reach, worker: "w"}
	served := func() *corev1.ConfigMap {
		m := in.objects.object("hello", firstChange).(*corev1.ConfigMap)
		m.UID, m.ResourceVersion, m.Namespace, m.Generation, m.CreationTimestamp = "1-2-3", "7", "postage-1", 1, metav1.Now()
		m.Kind, m.APIVersion = "ConfigMap", "v1"
		m.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "postage"}}
		m.Annotations["kcp.io/cluster"] = "root"
		return m
	}
	if err := in.checkObject(served(), "hello", firstChange); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*corev1.ConfigMap){
		"value":      func(m *corev1.ConfigMap) { m.Data["greeting"] = "other" },
		"no server":  func(m *corev1.ConfigMap) { m.UID = "" },
		"annotation": func(m *corev1.ConfigMap) { m.Annotations[changeKey] = "00000001" },
		"label":      func(m *corev1.ConfigMap) { delete(m.Labels, workerKey) },
		"no data":    func(m *corev1.ConfigMap) { m.Data = nil },
	} {
		m := served()
		change(m)
		if err := in.checkObject(m, "hello", firstChange); err == nil {
			t.Errorf("%s: passes", name)
		}
	}
}
