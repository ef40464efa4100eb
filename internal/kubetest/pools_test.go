package kubetest

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

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"postage/internal/kube/api"
	"postage/record"
)

// poolsBed is a cluster whose node has labels for several pools.
type poolsBed struct{ *bed }

func newPoolsBed(t *testing.T) *poolsBed {
	t.Helper()
	b := newBed(t, "postage-run-nodes")
	labels := []byte(`{"metadata":{"labels":{"test/type":"small","test/disk":"ssd","test/zone":"a"}}}`)
	if _, err := api.Nodes.In(b.Client, "").Patch(t.Context(), "node1", types.MergePatchType, labels, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	return &poolsBed{b}
}

// start starts a run on pools that takes seconds, in a folder.
func (b *poolsBed) start(t *testing.T, dir string, said io.Writer, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), b.Program, append([]string{
		"run", "Encode/msg=tiny/op=encode/codec=protobuf,json", "--budget", "3s", "--kubernetes", "--kubeconfig", b.User,
		"--image", image, "--host-network", "--cpu", "0",
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
	watch, err := api.ConfigMaps.In(b.Client, "default").Watch(ctx, metav1.ListOptions{})
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
	for _, want := range []string{"5 rows on 2 machines: ", "codec=json", " baseline", "small  linux/", "ssd  linux/"} {
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
	for _, args := range [][]string{{"show", "two-ssd.txt"}, {"show", "two-ssd.txt", "--html", "two.html"}, {"compare", "--machines", "two-small.txt", "two-ssd.txt"}} {
		cmd := exec.CommandContext(t.Context(), b.Program, args...)
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
		switch pool, text, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "postage: "), ": "); {
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
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
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
		jobs, err := api.Jobs.In(b.Client, "default").List(t.Context(), metav1.ListOptions{})
		if err == nil && len(jobs.Items) == 0 {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("a minute later there are Jobs: %v, %v", jobs, err)
		}
	}
}
