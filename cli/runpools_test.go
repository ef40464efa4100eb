package cli

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"

	"postage/record"
	"postage/service/apiserver"
	cluster "postage/service/kubernetes"
)

// poolsBed is a cluster with the image, the rights that the documentation names, and a node with
// labels for several pools.
type poolsBed struct {
	client              *kubernetes.Clientset // an administrator's
	program, kubeconfig string                // the kubeconfig of a user with exactly those rights
}

func newPoolsBed(t *testing.T) *poolsBed {
	t.Helper()
	if testing.Short() {
		t.Skip("half a minute on a real cluster: not with -short")
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
	ctx, dir := t.Context(), t.TempDir()
	b := &poolsBed{program: filepath.Join(dir, "postage"), kubeconfig: filepath.Join(dir, "kubeconfig")}
	archive := filepath.Join(dir, "image.tar")
	for _, args := range [][]string{
		// Linked statically out of the packages that are compiled already.
		{"go", "build", "-ldflags=-s -w -linkmode external -extldflags -static", "-o", b.program, "../cmd/postage"},
		{b.program, "kubernetes", "image", "--name", "postage.invalid/postage:test", archive},
	} {
		if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
	}
	c, err := cluster.Start(ctx, t.Output())
	must(err)
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	must(c.Import(ctx, archive))
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	must(err)
	b.client, err = kubernetes.NewForConfig(config)
	must(err)
	text, err := os.ReadFile("../docs/kubernetes.yaml")
	must(err)
	rbac, accounts, options := b.client.RbacV1(), b.client.CoreV1().ServiceAccounts("default"), metav1.CreateOptions{}
	for part := range bytes.SplitSeq(text, []byte("\n---\n")) {
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(part, nil, nil)
		must(err)
		switch o := object.(type) {
		case *corev1.ServiceAccount:
			_, err = accounts.Create(ctx, o, options)
		case *rbacv1.Role:
			_, err = rbac.Roles("default").Create(ctx, o, options)
		case *rbacv1.RoleBinding:
			_, err = rbac.RoleBindings("default").Create(ctx, o, options)
		case *rbacv1.ClusterRole:
			_, err = rbac.ClusterRoles().Create(ctx, o, options)
		}
		must(err)
	}
	meta, user := metav1.ObjectMeta{Name: "user"}, []rbacv1.Subject{{Kind: "ServiceAccount", Name: "user", Namespace: "default"}}
	_, err = accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta}, options)
	must(err)
	_, err = rbac.RoleBindings("default").Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "postage-load-user"}, Subjects: user,
	}, options)
	must(err)
	_, err = rbac.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "postage-run-nodes"}, Subjects: user,
	}, options)
	must(err)
	token, err := accounts.CreateToken(ctx, "user", &authenticationv1.TokenRequest{}, options)
	must(err)
	raw, err := clientcmd.LoadFromFile(c.Kubeconfig)
	must(err)
	for _, user := range raw.AuthInfos {
		user.Token = token.Status.Token
	}
	must(clientcmd.WriteToFile(*raw, b.kubeconfig))
	_, err = b.client.CoreV1().Nodes().Patch(ctx, "node1", types.MergePatchType, []byte(`{"metadata":{"labels":{"test/type":"small","test/disk":"ssd","test/zone":"a"}}}`), metav1.PatchOptions{})
	must(err)
	return b
}

// start starts a run on pools that takes seconds, in a folder.
func (b *poolsBed) start(t *testing.T, dir string, said io.Writer, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), b.program, append([]string{
		"run", "Encode/msg=tiny/op=encode/codec=protobuf,json", "--budget", "3s", "--kubernetes", "--kubeconfig", b.kubeconfig,
		"--image", "postage.invalid/postage:test", "--host-network", "--cpu", "0",
	}, args...)...)
	out := new(bytes.Buffer)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, out
}

// sums are the checksums of files that pods have sent.
func (b *poolsBed) sums(ctx context.Context, t *testing.T) func() map[string]bool {
	watch, err := b.client.CoreV1().ConfigMaps("default").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var mutex sync.Mutex
	seen := map[string]bool{}
	go func() {
		for event := range watch.ResultChan() {
			if o, ok := event.Object.(*corev1.ConfigMap); ok {
				mutex.Lock()
				seen[o.Data["sha256"]] = true
				mutex.Unlock()
			}
		}
	}()
	return func() map[string]bool {
		mutex.Lock()
		defer mutex.Unlock()
		return seen
	}
}

// killPod kills the process of the pod that is running.
func killPod(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(text), "--in-pod") {
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
	t.Fatal("no pod is running")
}

// A run on two pools brings back two records as the pods wrote them, and compares them by ratios.
// Of another run one pool's pod is killed, and the command is interrupted after the next pool's
// record has come: that record stays, and the Jobs go.
func TestRunOnPools(t *testing.T) {
	b := newPoolsBed(t)
	dir := t.TempDir()
	sums := b.sums(t.Context(), t)
	said := new(bytes.Buffer)
	cmd, out := b.start(t, dir, said, "--nodes", "test/type", "--nodes", "test/disk=ssd", "--out", "two.txt")
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	t.Logf("%s%s", said, out)
	for _, want := range []string{"3 rows on 2 machines: ", "codec=json", " ns/op", "small: linux/", "ssd: linux/"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output has no %q", want)
		}
	}
	for _, pool := range []string{"small", "ssd"} {
		file := filepath.Join(dir, "two-"+pool+".txt")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if sum := fmt.Sprintf("%x", sha256.Sum256(text)); !sums()[sum] {
			t.Errorf("%s has the checksum %s, which no pod has sent", file, sum)
		}
		if rec, err := record.Load(file); err != nil || !rec.Run.Complete || len(rec.Blocks) == 0 {
			t.Errorf("%s: %v", file, err)
		}
	}
	for _, args := range [][]string{{"show", "two-ssd.txt"}, {"report", "two-ssd.txt", "-o", "two.html"}, {"compare", "--machines", "two-small.txt", "two-ssd.txt"}} {
		cmd := exec.CommandContext(t.Context(), b.program, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%q: %v: %s", args, err, out)
		}
	}

	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd, _ = b.start(t, dir, writer, "--nodes", "test/type=small", "--nodes", "test/disk=ssd", "--nodes", "test/zone=a", "--out", "three.txt")
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	said.Reset()
	var dead, kept string // pools
	for lines := bufio.NewScanner(reader); lines.Scan(); {
		fmt.Fprintln(said, lines.Text())
		switch pool, text, _ := strings.Cut(lines.Text(), ": "); {
		case text == "runs on node1" && dead == "":
			dead = pool
			killPod(t)
		case strings.HasPrefix(text, "record saved"):
			kept = pool
		case text == "runs on node1" && kept != "":
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted {
		t.Fatalf("%v: %s", err, said)
	}
	t.Logf("%s", said)
	if files, _ := filepath.Glob(filepath.Join(dir, "three-*.txt")); len(files) != 1 || files[0] != filepath.Join(dir, "three-"+kept+".txt") {
		t.Errorf("%q are kept, want that of %s", files, kept)
	}
	for _, want := range []string{dead + ": its pod ", "1 of 3 pools have a record"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("it did not say %q", want)
		}
	}
	for until := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		jobs, err := b.client.BatchV1().Jobs("default").List(t.Context(), metav1.ListOptions{})
		if err == nil && len(jobs.Items) == 0 {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("a minute later there are Jobs: %v, %v", jobs, err)
		}
	}
}
