//go:build unix

package apiserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"postage/internal/sys/proc"
)

// TestMain makes the test program the one that is killed, see TestKilled.
func TestMain(m *testing.M) {
	if os.Getenv("POSTAGE_TEST_BE_KILLED") == "" {
		os.Exit(m.Run())
	}
	s, err := Start(context.Background(), Options{Kind: testKind()})
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Println(s.Reach().PID, s.scratch.dir)
	select {}
}

// testKind is the server that the tests run: POSTAGE_APISERVER, or the default one.
func testKind() Kind {
	if kind := os.Getenv("POSTAGE_APISERVER"); kind != "" {
		return Kind(kind)
	}
	return Generic
}

// needServer skips a test where the server is not built, as building it takes minutes; in CI it
// must be.
func needServer(t *testing.T) {
	t.Helper()
	if Built(testKind()) {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("the API server %s is not built, and CI builds it before the tests", testKind())
	}
	t.Skipf("the API server %s is not built: `postage run apply` builds it, in about 8 minutes", testKind())
}

// started is a server for one test.
func started(t *testing.T, o Options) *Server {
	t.Helper()
	needServer(t)
	o.Kind = testKind()
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(s.scratch.dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left behind", s.scratch.dir)
		}
	})
	return s
}

func TestServer(t *testing.T) {
	s := started(t, Options{})
	r := s.Reach()
	config, err := r.Config()
	if err != nil {
		t.Fatal(err)
	}
	if err := ready(config); err != nil {
		t.Error(err)
	}
	if err := s.Allowed(t.Context(), "", "configmaps", true, "create", "delete"); err != nil {
		t.Error(err)
	}
	if cpu, err := proc.CPUOf(r.PID); err != nil || cpu <= 0 {
		t.Errorf("CPU time %v, %v", cpu, err)
	}
	// Without its credentials nobody gets in.
	anonymous := rest.AnonymousClientConfig(config)
	if _, err := createNamespace(t.Context(), anonymous); !apierrors.IsUnauthorized(err) && !apierrors.IsForbidden(err) {
		t.Errorf("a stranger makes a namespace: %v", err)
	}
}

// After kill -9 of its parent, the server ends and its folder is removed.
func TestKilled(t *testing.T) {
	needServer(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(program)
	parent.Env = append(os.Environ(), "POSTAGE_TEST_BE_KILLED=1")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	var dir string
	line, err := bufio.NewReader(out).ReadString('\n')
	if _, scanned := fmt.Sscan(line, &pid, &dir); scanned != nil {
		err = errors.Join(fmt.Errorf("it says %q", line), err)
	}
	if err := errors.Join(parent.Process.Kill(), err); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	for until := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		_, err := os.Stat(dir)
		if alive := running(pid); !alive && errors.Is(err, os.ErrNotExist) {
			return
		} else if time.Now().After(until) {
			t.Fatalf("a minute later: server alive %v, its folder: %v", alive, err)
		}
	}
}

// running reports whether a process exists and is not a zombie: the server becomes a child of PID
// 1, and not every PID 1 reaps its children.
func running(pid int) bool {
	state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err == nil && strings.Contains(string(state), ") Z ") {
		return false
	}
	return syscall.Kill(pid, 0) == nil
}

// Data is kept in memory where there is room, on a disk if writes are to be synced to one.
func TestParentFolder(t *testing.T) {
	t.Setenv("TMPDIR", "/var/tmp")
	for _, r := range []struct {
		o            Options
		memory       string
		want, reason string
	}{
		{Options{Kind: Generic}, "/dev/shm", "/dev/shm", ""},
		{Options{Kind: KCP}, "/dev/shm", "/dev/shm", ""},
		{Options{Kind: Generic, Fsync: true}, "/dev/shm", "/var/tmp", ""},
		{Options{Kind: KCP, Fsync: true}, "", "/var/tmp", ""},
		{Options{Kind: Generic}, "", "/var/tmp", ""},
		{Options{Kind: KCP}, "", "", "no file system in memory with 512 MB free"},
	} {
		got, err := parentFolder(r.o, r.memory)
		if got != r.want || (err == nil) != (r.reason == "") || err != nil && !strings.Contains(err.Error(), r.reason) {
			t.Errorf("%+v, memory at %q: %q, %v", r.o, r.memory, got, err)
		}
	}
}

func TestNoSuchKind(t *testing.T) {
	if _, err := Start(t.Context(), Options{Kind: "minikube"}); err == nil || !strings.Contains(err.Error(), "there is no such API server") {
		t.Errorf("error is %v", err)
	}
}

// An unreachable cluster is named within 10 seconds, whether it refuses connections or does not
// answer.
func TestUnreachable(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	refusing, err := proc.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	for _, addr := range []string{silent.Addr().String(), net.JoinHostPort("127.0.0.1", strconv.Itoa(refusing))} {
		file := t.TempDir() + "/kubeconfig"
		text := `{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":"https://` + addr +
			`"}}],"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],"users":[{"name":"u","user":{}}]}`
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		// The bound is reachTimeout; this one only ends a test that would hang.
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		_, err := Start(ctx, Options{Kind: User, Kubeconfig: file})
		if ctx.Err() != nil || err == nil || !strings.Contains(err.Error(), addr) {
			t.Errorf("%s: error is %v", addr, err)
		}
		cancel()
	}
	if reachTimeout >= 10*time.Second {
		t.Errorf("a silent cluster is noticed after %v", reachTimeout)
	}
}

// Only a cluster that was named is used, whatever kubectl is configured for.
func TestNoClusterNamed(t *testing.T) {
	file := t.TempDir() + "/kubeconfig"
	text := `{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":"https://127.0.0.1:1"}}],"contexts":[{"name":"c","context":{"cluster":"c"}}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", file)
	for _, name := range []string{"", "c"} {
		if _, err := Start(t.Context(), Options{Kind: User, Context: name}); err == nil || !strings.Contains(err.Error(), "no cluster is named: give --kubeconfig (or POSTAGE_KUBECONFIG)") {
			t.Errorf("context %q: error is %v", name, err)
		}
	}
}

func TestNoKubeconfig(t *testing.T) {
	if _, err := Start(t.Context(), Options{Kind: User, Kubeconfig: t.TempDir() + "/none"}); err == nil || !strings.Contains(err.Error(), "kubeconfig: ") {
		t.Errorf("error is %v", err)
	}
}

func TestNotBuilt(t *testing.T) {
	p, err := programOf(Generic)
	if err != nil {
		t.Fatal(err)
	}
	file, err := p.file()
	if err != nil {
		t.Fatal(err)
	}
	// Another module is another file.
	other := *p
	other.module = t.TempDir()
	if err := os.WriteFile(other.module+"/go.mod", []byte("module x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if name, err := other.file(); err != nil || name == file {
		t.Errorf("%s, %v", name, err)
	}
}

// A build that fails says what go build said, and one that is interrupted ends.
func TestBuildFails(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module broken\n\ngo 1.26\n", "main.go": "package main\n\nfunc main() { undefined() }\n"} {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var log strings.Builder
	p := &program{kind: "broken", module: dir, packages: []string{"."}}
	err := build(t.Context(), p, dir+"/bin/server", &log)
	if err == nil || !strings.Contains(err.Error(), "undefined: undefined") {
		t.Errorf("error is %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := build(ctx, p, dir+"/bin/server", &log); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	if left, _ := os.ReadDir(dir + "/bin"); len(left) != 0 {
		t.Errorf("%v is left behind", left)
	}
	if !strings.Contains(log.String(), "postage: building the API server broken, which takes about 8 minutes the first time") {
		t.Errorf("%q", log.String())
	}
}
