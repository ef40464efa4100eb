package kubetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The Jobs of docs/kubernetes.md wait for the machine type that they select and run there. The
// commands of that page fetch both records and compare them.
func TestMachines(t *testing.T) {
	b := newBed(t)
	page, err := os.ReadFile("../../../docs/kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Machine types compared\n")
	blocks := strings.Split(section, "\n```")
	manifest := strings.TrimPrefix(blocks[1], "yaml\n")
	large := strings.Replace(manifest, "--budget, 10m", "--budget, 20s", 1)
	if large == manifest {
		t.Fatalf("no budget in %s", manifest)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"large.yaml": large, "huge.yaml": strings.Replace(large, "postage-large", "postage-huge", 1)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b.busybox(t, filepath.Join(dir, "bin"))
	b.must(t, "apply", "--filename="+filepath.Join(dir, "large.yaml"))
	await(t, "waiting for its machine type", func() bool {
		return strings.Contains(b.must(t, "get", "pods", "--selector=job-name=postage-large", "--output=json"), "node affinity/selector")
	})
	b.must(t, "label", "node", b.address, "node.kubernetes.io/instance-type=m7i.large")
	commands := exec.CommandContext(t.Context(), "sh", "-e", "-x", "-c", strings.Replace(blocks[3], "--timeout=1h", "--timeout=5m", 1))
	commands.Dir = dir
	commands.Env = append(os.Environ(), "KUBECONFIG="+b.Kubeconfig, "PATH="+filepath.Dir(b.Program)+":"+os.Getenv("PATH"))
	out, err := commands.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"large.txt", "huge.txt"} {
		record, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil || !strings.Contains(string(record), "\nBenchmarkSeal/") {
			t.Errorf("%s has no row of seal: %v, %.300s", file, err, record)
		}
	}
}

// busybox gives the node an image like the one of that name, without a registry.
func (b *bed) busybox(t *testing.T, folder string) {
	t.Helper()
	program, err := exec.LookPath("busybox")
	if err == nil {
		_, err = run(t.Context(), program, "sh", "-e", "-c", `mkdir "$1"; cp "$0" "$1"; cd "$1"; for f in sh gzip base64; do ln -s busybox $f; done`, program, folder)
	}
	file := filepath.Join(b.dir, "busybox")
	if err == nil {
		err = os.WriteFile(file, []byte("FROM scratch\nCOPY . /bin/\n"), 0o600)
	}
	if err == nil {
		err = b.image(t.Context(), "busybox:1", file, folder)
	}
	if err != nil {
		t.Fatal(err)
	}
}
