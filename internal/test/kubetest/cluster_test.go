// Package kubetest runs Postage's image on a Kubernetes of one node, which it starts: the fleet of
// `postage load --kubernetes`, and the Jobs of docs/kubernetes.md.
package kubetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"postage/internal/service/apiserver"
	"postage/internal/sys/proc"
)

// startTimeout is how long a cluster may take to be ready. It takes 5 seconds on two idle cores.
const startTimeout = 3 * time.Minute

// image is the name of Postage's image in docs/kubernetes.md.
const image = "example/postage:1"

// A bed is a Kubernetes of one node on this machine, with Postage's image and what
// docs/kubernetes.yaml creates: API server, controllers, scheduler and kubelet, over this machine's
// containerd and runc.
//
// Everything listens on one address of the loopback interface, drawn at random, and all files are
// in one folder. The programs run in process and mount namespaces of their own. All of them, and
// all pods, therefore end with the test or with the test's process, even if that is killed. Their
// control groups and the folder are removed.
//
// Note: pods reach the API server and tests only with hostNetwork, since there is no kube-proxy.
// The service of the API server has the server's own address, so that they find it in the usual
// way. The node's name is that address too: by it the API server reaches the kubelet.
type bed struct {
	dir        string // folder of all files
	address    string // the node's name and address
	Kubeconfig string // path of an administrator's kubeconfig
	User       string // path of the kubeconfig of a person with the Role postage-load-user
	Program    string // path of the postage of the image
	cmd        *exec.Cmd
	input      io.Closer
}

// missing returns a sentence that says why no cluster can be started on this machine, nil if one
// can.
func missing() error {
	if runtime.GOOS != "linux" {
		return errors.New("starting a Kubernetes needs Linux")
	}
	if os.Geteuid() != 0 {
		return errors.New("starting a Kubernetes needs root, for its containers")
	}
	for _, need := range []struct{ file, pkg string }{
		{"containerd", "containerd"}, {"ctr", "containerd"}, {"containerd-shim-runc-v2", "containerd"}, {"runc", "runc"},
		{cniFolder + "/ptp", "containernetworking-plugins"}, {"unshare", "util-linux"},
		{"buildah", "buildah"}, {"busybox", "busybox-static"}, {"kubectl", "kubernetes-client"},
	} {
		if _, err := exec.LookPath(need.file); err != nil {
			return fmt.Errorf("starting a Kubernetes needs %s: install Debian's package %s", need.file, need.pkg)
		}
	}
	if !apiserver.Built(apiserver.Kubernetes) {
		return errors.New("its programs are not built: go run ./internal/service/apiserver/buildserver kubernetes")
	}
	return nil
}

// cniFolder is where Debian's package installs its plugins.
const cniFolder = "/usr/lib/cni"

// newBed starts a cluster, which ends with the test. It is for POSTAGE_LONG; the test is skipped if
// something is missing, and under CI it then fails.
func newBed(t *testing.T) *bed {
	t.Helper()
	if os.Getenv("POSTAGE_LONG") == "" {
		t.Skip("a minute on a real cluster: POSTAGE_LONG=1")
	}
	if err := missing(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	dir, err := os.MkdirTemp("", "postage-kubernetes-")
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{dir: dir, Kubeconfig: filepath.Join(dir, "kubeconfig"), User: filepath.Join(dir, "user"), Program: filepath.Join(dir, "image/postage")}
	if err := b.start(t); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.stop(t) })
	t.Cleanup(func() { b.podLogs(t) })
	if err := errors.Join(b.postage(t.Context()), b.user(t.Context())); err != nil {
		t.Fatal(err)
	}
	return b
}

// postage gives the node the image of docs/Dockerfile.
func (b *bed) postage(ctx context.Context) error {
	folder := filepath.Dir(b.Program)
	for _, args := range [][]string{
		// Linked statically out of the packages that are compiled already.
		{"go", "build", "-ldflags=-s -w -linkmode external -extldflags -static", "-o", b.Program, "postage/cmd/postage"},
		{"cp", "/etc/ssl/certs/ca-certificates.crt", folder},
	} {
		if _, err := run(ctx, args[0], args[1:]...); err != nil {
			return err
		}
	}
	return b.image(ctx, image, "../../../docs/Dockerfile", folder)
}

// start starts the programs, and returns once the node is ready.
func (b *bed) start(t *testing.T) error {
	programs, err := apiserver.Program(t.Context(), apiserver.Kubernetes, t.Output())
	if err != nil {
		return err
	}
	name := filepath.Base(b.dir)
	// A network of the loopback interface. The API server and its service have its first address.
	b.address = fmt.Sprintf("127.%d.%d.1", 64+rand.IntN(128), rand.IntN(256))
	if err := b.write(programs, name); err != nil {
		return errors.Join(err, os.RemoveAll(b.dir))
	}
	b.cmd = exec.Command("sh", "./keep.sh", b.dir, programs, b.address, name)
	proc.OwnGroup(b.cmd)
	if b.input, err = b.cmd.StdinPipe(); err == nil {
		err = b.cmd.Start()
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(b.dir))
	}
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	if err := b.ready(ctx, filepath.Dir(programs)); err != nil {
		logs := b.logs()
		b.stop(t)
		return fmt.Errorf("the node is not ready: %w\n%s", err, logs)
	}
	return nil
}

// write writes the files that the programs need to start.
func (b *bed) write(programs, name string) error {
	for _, folder := range []string{"log", "cni"} {
		if err := os.Mkdir(filepath.Join(b.dir, folder), 0o755); err != nil {
			return err
		}
	}
	if err := apiserver.WriteCredentials(b.dir, b.address+":443"); err != nil {
		return err
	}
	fill := strings.NewReplacer("$dir", b.dir, "$address", b.address, "$name", name, "$cni", cniFolder)
	for file, text := range map[string]string{
		"cni/pods.conflist": fill.Replace(podNetwork),
		"containerd.toml":   fill.Replace(containerdConfig),
		"kubelet.yaml":      fill.Replace(kubeletConfig),
	} {
		if err := os.WriteFile(filepath.Join(b.dir, file), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// podNetwork gives a pod a pair of interfaces, which end with it.
const podNetwork = `{"cniVersion":"0.4.0","name":"pods","plugins":[{"type":"ptp","ipam":{
"type":"host-local","dataDir":"$dir/cni/addresses","ranges":[[{"subnet":"198.18.0.0/24"}]]}}]}`

// restrict_oom_score_adj: without CAP_SYS_RESOURCE runc cannot lower it. native: overlayfs does
// not work on overlayfs.
const containerdConfig = `version = 2
root = "$dir/containerd/root"
state = "$dir/containerd/state"
[grpc]
  address = "$dir/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  restrict_oom_score_adj = true
  sandbox_image = "postage.invalid/pause:1"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "$cni"
    conf_dir = "$dir/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
`

const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupRoot: /$name
cgroupsPerQOS: false
enforceNodeAllocatable: []
failSwapOn: false
localStorageCapacityIsolation: false
containerRuntimeEndpoint: unix://$dir/containerd.sock
podLogsDir: $dir/log/pods
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
address: $address
healthzPort: 0
evictionHard: {memory.available: "1Mi", nodefs.available: "1%", imagefs.available: "1%"}
`

// ready gives the node its image of pause, and waits until it can run pods.
func (b *bed) ready(ctx context.Context, programs string) error {
	file := filepath.Join(b.dir, "Dockerfile")
	if err := os.WriteFile(file, []byte("FROM scratch\nCOPY pause /\nENTRYPOINT [\"/pause\"]\n"), 0o600); err != nil {
		return err
	}
	for {
		_, err := b.kubectl(ctx, "wait", "--for=condition=Ready", "node/"+b.address, "--timeout=1s")
		if err == nil { // pods are refused until their account exists
			_, err = b.kubectl(ctx, "get", "serviceaccount", "default")
		}
		if err == nil {
			return b.image(ctx, "postage.invalid/pause:1", file, programs)
		}
		if !pause(ctx) {
			return err
		}
	}
}

// image builds an image of a folder's files, and gives it to the node.
func (b *bed) image(ctx context.Context, name, dockerfile, folder string) error {
	archive := filepath.Join(b.dir, "image.tar")
	buildah := []string{"buildah", "--root", filepath.Join(b.dir, "images"), "--runroot", filepath.Join(b.dir, "images-run"), "--storage-driver", "vfs"}
	for _, args := range [][]string{
		append(slices.Clone(buildah), "build", "--tag", name, "--file", dockerfile, folder),
		append(slices.Clone(buildah), "push", name, "docker-archive:"+archive+":"+name),
		{"ctr", "--address", filepath.Join(b.dir, "containerd.sock"), "--namespace", "k8s.io", "images", "import", archive},
	} {
		if _, err := run(ctx, args[0], args[1:]...); err != nil {
			return err
		}
	}
	return os.Remove(archive)
}

// user makes the rights of docs/kubernetes.yaml, and the kubeconfig of a person who has them.
func (b *bed) user(ctx context.Context) error {
	for _, args := range [][]string{
		{"apply", "-f", "../../../docs/kubernetes.yaml"},
		{"create", "rolebinding", "user", "--role=postage-load-user", "--user=user"},
	} {
		if _, err := b.kubectl(ctx, args...); err != nil {
			return err
		}
	}
	config, err := clientcmd.LoadFromFile(b.Kubeconfig)
	if err != nil {
		return err
	}
	for _, user := range config.AuthInfos {
		user.Impersonate = "user"
	}
	if err := clientcmd.WriteToFile(*config, b.User); err != nil {
		return err
	}
	for { // the API server knows of a right some time after it was given
		_, err := b.kubectl(ctx, "auth", "can-i", "create", "jobs", "--as=user")
		if err == nil || !pause(ctx) {
			return err
		}
	}
}

// kubectl runs kubectl as an administrator, and returns what it prints.
func (b *bed) kubectl(ctx context.Context, args ...string) (string, error) {
	return run(ctx, "kubectl", append([]string{"--kubeconfig", b.Kubeconfig, "--cache-dir", filepath.Join(b.dir, "kubectl")}, args...)...)
}

// run runs a command and returns what it prints.
func run(ctx context.Context, name string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		err = fmt.Errorf("%s %q: %w: %s%s", name, args, err, out, exit.Stderr)
	}
	return string(out), err
}

// pause waits a moment, and reports false if ctx ended.
func pause(ctx context.Context) bool {
	time.Sleep(200 * time.Millisecond)
	return ctx.Err() == nil
}

// logs returns the last lines of each program's log.
func (b *bed) logs() string {
	var out strings.Builder
	for _, name := range []string{"node", "apiserver", "controllers", "scheduler", "containerd", "kubelet"} {
		r := apiserver.Reach{Log: filepath.Join(b.dir, "log", name)}
		fmt.Fprintf(&out, "%s: %s\n", name, r.LastLines(2))
	}
	return out.String()
}

// podLogs shows the pods' logs if the test failed.
func (b *bed) podLogs(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(b.dir, "log/pods/*/*/*.log"))
	for _, file := range files {
		if text, err := os.ReadFile(file); t.Failed() && err == nil {
			t.Logf("%s: %s", filepath.Base(filepath.Dir(filepath.Dir(file))), text)
		}
	}
}

// stop ends the cluster and all its pods, and checks that they leave nothing behind.
func (b *bed) stop(t *testing.T) {
	_ = b.input.Close()
	_ = b.cmd.Wait() // its error does not matter: what is left does
	if _, err := os.Stat(b.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left behind: %s", b.dir)
	}
	if pid := processOf(b.dir); pid != 0 {
		t.Errorf("left behind: process %d", pid)
	}
	if groups, _ := filepath.Glob("/sys/fs/cgroup/*/" + filepath.Base(b.dir)); len(groups) > 0 {
		t.Errorf("left behind: %q", groups)
	}
}

// signal sends a signal to one of the node's programs: apiserver, controllers, scheduler,
// containerd or kubelet. A program that ends is started again.
func (b *bed) signal(t *testing.T, program string, signal syscall.Signal) {
	t.Helper()
	pid := processOf(b.dir, program)
	if err := syscall.Kill(pid, signal); pid == 0 || err != nil {
		t.Fatalf("%s is process %d: %v", program, pid, err)
	}
}

// processOf returns a process with a folder in its arguments, and with a program's name as one of
// the first two; 0 if there is none.
func processOf(dir string, program ...string) int {
	processes, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range processes {
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(text), dir) {
			continue // it has ended, or is another
		}
		args := strings.SplitN(string(text), "\x00", 3)
		if len(program) > 0 && args[1] != program[0] && filepath.Base(args[0]) != program[0] {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		return pid
	}
	return 0
}
