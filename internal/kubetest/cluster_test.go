package kubetest

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"postage/internal/kube/api"
	"postage/internal/proc"
	"postage/internal/service/apiserver"
	"postage/internal/service/kubernetes"
)

// startTimeout is how long a cluster may take to be ready. It takes 5 seconds on two idle cores.
const startTimeout = 3 * time.Minute

// A cluster is a Kubernetes of one node on this machine: API server, controllers, scheduler and
// kubelet, over this machine's containerd and runc.
//
// Everything listens on one address of the loopback interface, drawn at random, and all files are
// in one folder. The programs run in process and mount namespaces of their own. All of them, and
// all pods, therefore end with [cluster.Stop] or with the calling process, even if that is killed.
// Their control groups and the folder are removed.
//
// Note: there is no pod network and no kube-proxy. Pods that need a network must set hostNetwork.
// The service of the API server has the server's own address, so that pods find it in the usual
// way.
type cluster struct {
	Kubeconfig string // path of an administrator's kubeconfig
	dir        string // folder of all files
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
		{cniFolder + "/loopback", "containernetworking-plugins"}, {"unshare", "util-linux"},
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

var (
	//go:embed node.sh
	nodeScript []byte
	//go:embed keep.sh
	keepScript []byte
)

// startCluster starts a cluster and returns once its node is ready. ctx bounds the start only.
func startCluster(ctx context.Context, log io.Writer) (_ *cluster, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("kubernetes: %w", err)
		}
	}()
	programs, err := apiserver.Program(ctx, apiserver.Kubernetes, log)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	c := new(cluster)
	if c.dir, err = os.MkdirTemp("", "postage-kubernetes-"); err != nil {
		return nil, err
	}
	c.Kubeconfig = filepath.Join(c.dir, "kubeconfig")
	name := filepath.Base(c.dir)
	// A network of the loopback interface. Its first address is that of the API server and of its
	// service.
	address := fmt.Sprintf("127.%d.%d.1", 64+rand.IntN(128), rand.IntN(256))
	if err := c.write(programs, address, name); err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.dir))
	}
	c.cmd = exec.Command("sh", filepath.Join(c.dir, "keep.sh"), c.dir, programs, address, name)
	c.cmd.Dir = "/"
	proc.OwnGroup(c.cmd)
	if c.input, err = c.cmd.StdinPipe(); err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.dir))
	}
	if err := c.await(ctx, filepath.Join(filepath.Dir(programs), "pause")); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// write writes the files that the programs need to start.
func (c *cluster) write(programs, address, name string) error {
	for _, folder := range []string{"log", "cni"} {
		if err := os.Mkdir(filepath.Join(c.dir, folder), 0o755); err != nil {
			return err
		}
	}
	if err := apiserver.WriteCredentials(c.dir, address+":443"); err != nil {
		return err
	}
	fill := strings.NewReplacer("$dir", c.dir, "$address", address, "$name", name, "$cni", cniFolder)
	for file, text := range map[string]string{
		"node.sh": string(nodeScript), "keep.sh": string(keepScript),
		"cni/10-loopback.conflist": `{"cniVersion":"0.4.0","name":"loopback","plugins":[{"type":"loopback"}]}`,
		"containerd.toml":          fill.Replace(containerdConfig),
		"kubelet.yaml":             fill.Replace(kubeletConfig),
	} {
		if err := os.WriteFile(filepath.Join(c.dir, file), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

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

// await waits until the node is ready.
func (c *cluster) await(ctx context.Context, pause string) error {
	pauseImage := filepath.Join(c.dir, "pause.tar")
	if err := c.image(pauseImage, "postage.invalid/pause:1", pause); err != nil {
		return err
	}
	imported := false
	for {
		var last error
		if !imported {
			last = c.Import(ctx, pauseImage)
			imported = last == nil
		}
		if last == nil {
			if last = c.ready(ctx); last == nil {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the node is not ready: %w: %w\n%s", context.Cause(ctx), last, c.logs())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// ready returns why the node is not ready to run pods, nil if it is.
func (c *cluster) ready(ctx context.Context) error {
	reach := apiserver.Reach{Kubeconfig: c.Kubeconfig}
	config, err := reach.Config()
	if err != nil {
		return err
	}
	client, err := api.Connect(config, nil)
	if err != nil {
		return err
	}
	node, err := api.Nodes.In(client, "").Get(ctx, "node1", metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type != corev1.NodeReady {
			continue
		}
		if condition.Status != corev1.ConditionTrue {
			return errors.New(condition.Message)
		}
		// Pods are refused until their service account exists.
		_, err := api.ServiceAccounts.In(client, "default").Get(ctx, "default", metav1.GetOptions{})
		return err
	}
	return errors.New("its kubelet has not reported yet")
}

// logs returns the last lines of each program's log.
func (c *cluster) logs() string {
	var out strings.Builder
	for _, name := range []string{"node", "apiserver", "controllers", "scheduler", "containerd", "kubelet"} {
		r := apiserver.Reach{Log: filepath.Join(c.dir, "log", name)}
		fmt.Fprintf(&out, "%s: %s\n", name, r.LastLines(2))
	}
	return out.String()
}

func (c *cluster) image(file, name, program string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(kubernetes.WriteImage(f, name, program), f.Close())
}

// Import gives the node an image, read from its archive.
func (c *cluster) Import(ctx context.Context, archive string) error {
	out, err := exec.CommandContext(ctx, "ctr", "--address", filepath.Join(c.dir, "containerd.sock"), "--namespace", "k8s.io",
		"images", "import", archive).CombinedOutput()
	if err != nil {
		return fmt.Errorf("import %s: %w: %s", archive, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// PID returns the process of one of the node's programs: apiserver, controllers, scheduler,
// containerd or kubelet. A program that ends is started again.
func (c *cluster) PID(name string) (int, error) {
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return 0, err
	}
	for _, file := range processes {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		args := strings.Split(string(text), "\x00")
		if strings.Contains(string(text), c.dir) && len(args) > 1 && (args[1] == name || filepath.Base(args[0]) == name) {
			return strconv.Atoi(filepath.Base(filepath.Dir(file)))
		}
	}
	return 0, fmt.Errorf("%s is not running", name)
}

// Stop ends the cluster and all its pods, and removes its files.
func (c *cluster) Stop() error {
	_ = c.input.Close()
	_ = c.cmd.Wait() // its error does not matter: Stop looks at what is left
	if _, err := os.Stat(c.dir); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("kubernetes: %s is left behind", c.dir)
	}
	return nil
}

// started starts a cluster, which ends with the test. It is for POSTAGE_LONG; the test is skipped
// if something is missing, and under CI it then fails.
func started(t *testing.T) *cluster {
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
	c, err := startCluster(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// The programs of a cluster run, and nothing of it is left when it has been stopped.
func TestCluster(t *testing.T) {
	c := started(t)
	for _, name := range []string{"apiserver", "controllers", "scheduler", "containerd", "kubelet"} {
		if _, err := c.PID(name); err != nil {
			t.Error(err)
		}
	}
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(c.Kubeconfig)
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range processes {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), dir) {
			t.Errorf("left behind: %s: %q", file, text)
		}
	}
	if groups, _ := filepath.Glob("/sys/fs/cgroup/*/" + filepath.Base(dir)); len(groups) > 0 {
		t.Errorf("left behind: %q", groups)
	}
}
