package fleet_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"

	"postage/service/apiserver"
	cluster "postage/service/kubernetes"
)

// A bed is a cluster with the image and the rights that the documentation names, and a server
// outside it.
type bed struct {
	*cluster.Cluster
	client     *kubernetes.Clientset
	program    string
	kubeconfig string // of an account with exactly the rights of docs/kubernetes.yaml
	url        string
	served     atomic.Int64
}

func newBed(t *testing.T) *bed {
	t.Helper()
	if testing.Short() {
		t.Skip("a minute on a real cluster: not with -short")
	}
	why := ""
	if err := cluster.Missing(); err != nil {
		why = err.Error()
	} else if !apiserver.Built(apiserver.Kubernetes) {
		why = "its programs are not built: go run ./service/apiserver/buildserver kubernetes"
	}
	if why != "" {
		if os.Getenv("CI") == "true" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, b := t.Context(), new(bed)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { b.served.Add(1) }))
	t.Cleanup(server.Close)
	b.url = server.URL
	dir := t.TempDir()
	b.program = filepath.Join(dir, "postage")
	// Linked statically out of the packages that are compiled already.
	build := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w -linkmode external -extldflags -static", "-o", b.program, "../../cmd/postage")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	archive := filepath.Join(dir, "image.tar")
	if out, err := exec.CommandContext(ctx, b.program, "kubernetes", "image", "--name", "postage.invalid/postage:test", archive).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var err error
	b.Cluster, err = cluster.Start(ctx, t.Output())
	must(err)
	t.Cleanup(func() {
		if err := b.Stop(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		logs, _ := filepath.Glob(filepath.Join(filepath.Dir(b.Kubeconfig), "log/pods/*/*/*.log"))
		for _, file := range logs {
			if text, err := os.ReadFile(file); t.Failed() && err == nil {
				t.Logf("%s: %s", filepath.Base(filepath.Dir(filepath.Dir(file))), text)
			}
		}
	})
	must(b.Import(ctx, archive))
	config, err := clientcmd.BuildConfigFromFlags("", b.Kubeconfig)
	must(err)
	b.client, err = kubernetes.NewForConfig(config)
	must(err)
	b.grant(t, "../../docs/kubernetes.yaml")
	user := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "user"}}
	_, err = b.client.CoreV1().ServiceAccounts("default").Create(ctx, user, metav1.CreateOptions{})
	must(err)
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "user"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "postage-load-user"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "user", Namespace: "default"}},
	}
	_, err = b.client.RbacV1().RoleBindings("default").Create(ctx, binding, metav1.CreateOptions{})
	must(err)
	token, err := b.client.CoreV1().ServiceAccounts("default").CreateToken(ctx, "user", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	must(err)
	raw, err := clientcmd.LoadFromFile(b.Kubeconfig)
	must(err)
	for _, user := range raw.AuthInfos {
		user.Token = token.Status.Token
	}
	b.kubeconfig = filepath.Join(dir, "kubeconfig")
	must(clientcmd.WriteToFile(*raw, b.kubeconfig))
	return b
}

// grant applies the manifests of a file.
func (b *bed) grant(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for part := range bytes.SplitSeq(text, []byte("\n---\n")) {
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(part, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		switch o := object.(type) {
		case *corev1.ServiceAccount:
			_, err = b.client.CoreV1().ServiceAccounts("default").Create(ctx, o, metav1.CreateOptions{})
		case *rbacv1.Role:
			_, err = b.client.RbacV1().Roles("default").Create(ctx, o, metav1.CreateOptions{})
		case *rbacv1.RoleBinding:
			_, err = b.client.RbacV1().RoleBindings("default").Create(ctx, o, metav1.CreateOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// result is the part of --json's output that the tests read.
type result struct {
	Requests, Failed, Unanswered int64
	NotSent                      int64 `json:"not_sent"`
	Achieved                     float64
	Valid                        bool
	Invalid                      *string
	Errors                       map[string]int64
}

// load starts `postage load` on the cluster. The function that it returns waits for its end.
func (b *bed) load(ctx context.Context, t *testing.T, args ...string) (cmd *exec.Cmd, wait func() result) {
	t.Helper()
	all := append([]string{"load", "--kubernetes", "--kubeconfig", b.kubeconfig, "--image", "postage.invalid/postage:test", "--host-network", "--cpu", "0", "--json"}, args...)
	cmd = exec.CommandContext(ctx, b.program, all...)
	cmd.Dir = t.TempDir()
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, func() result {
		t.Helper()
		err := cmd.Wait()
		var exit *exec.ExitError
		if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) { // 1: the latencies are not valid
			t.Fatalf("%v: %s", err, &said)
		}
		t.Logf("%s", &said)
		var r result
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatalf("%v: %q", err, &out)
		}
		return r
	}
}

// await waits until a condition holds.
func await(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for until := time.Now().Add(2 * time.Minute); !happened(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("two minutes later: not %s", what)
		}
	}
}

// account checks that the requests sent and not sent add up to the plan, as far as the server,
// which counts by itself, can tell.
func (b *bed) account(t *testing.T, r result, planned, notKnown int64) {
	t.Helper()
	served := b.served.Load()
	if sent := r.Requests + r.Unanswered; sent+r.NotSent != planned {
		t.Errorf("%d sent and %d not sent: %d were planned", sent, r.NotSent, planned)
	}
	if r.Requests-r.Failed > served || served > r.Requests+r.Unanswered+notKnown {
		t.Errorf("%d answered, %d unanswered, %d not known: the server counted %d", r.Requests, r.Unanswered, notKnown, served)
	}
}

// Several workers send what one would have sent, and the Job is gone afterwards. Then one worker is
// killed: its successor goes on, and what was not sent, or not reported, is counted.
func TestFleet(t *testing.T) {
	b := newBed(t)
	_, wait := b.load(t.Context(), t, "--workers", "5", "--rate", "200", "--duration", "5s", b.url)
	r := wait()
	b.account(t, r, 1000, 0)
	if r.NotSent != 0 || r.Failed != 0 || b.served.Load() != 1000 {
		t.Errorf("%d not sent, %d failed (%v), %d served", r.NotSent, r.Failed, r.Errors, b.served.Load())
	}
	await(t, "without Jobs", func() bool {
		jobs, err := b.client.BatchV1().Jobs("default").List(t.Context(), metav1.ListOptions{})
		return err == nil && len(jobs.Items) == 0
	})

	b.served.Store(0)
	_, wait = b.load(t.Context(), t, "--workers", "2", "--rate", "100", "--duration", "30s", b.url)
	await(t, "sending", func() bool { return b.served.Load() > 300 })
	killWorker(t, b)
	r = wait()
	b.account(t, r, 3000, r.NotSent)
	if r.NotSent == 0 || r.Requests < 1500 {
		t.Errorf("%d not sent, %d answered", r.NotSent, r.Requests)
	}
}

// killWorker kills the process of a worker.
func killWorker(t *testing.T, b *bed) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(text), "--kubernetes-worker") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil {
			err = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatal("there is no worker")
}
