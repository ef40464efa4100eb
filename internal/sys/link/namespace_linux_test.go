package link

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// holder has a test program open a link, or be one itself, say where it is, and wait.
const holder = "POSTAGE_TEST_HOLDS_LINK"

func hold(how string) {
	s := Spec{RTT: time.Millisecond}
	var near *End
	l, err := &Link{}, error(nil)
	if how == "open" {
		if l, err = Open(context.Background(), s); err == nil {
			near = l.Near
		}
	} else {
		near, _, _, err = carry(s)
	}
	if err != nil {
		fmt.Println("refused:", err)
		os.Exit(1)
	}
	fmt.Println(near.Namespace)
	time.Sleep(10 * time.Minute)
}

// again starts this test program as a holder and returns what it says.
func again(t *testing.T, how string, as *syscall.SysProcAttr) (said string, cmd *exec.Cmd) {
	t.Helper()
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	cmd = exec.CommandContext(t.Context(), "/proc/self/fd/3") // which another user may execute wherever it is
	cmd.ExtraFiles = []*os.File{self}
	cmd.Env, cmd.SysProcAttr, cmd.Dir = append(os.Environ(), holder+"="+how), as, "/"
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("not possible here: %v", err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line), cmd
}

// used says which process holds a namespace: as its own, or by a file.
func used(namespace string) string {
	for _, pattern := range []string{"/proc/[0-9]*/task/*/ns/net", "/proc/[0-9]*/fd/*"} {
		found, _ := filepath.Glob(pattern)
		for _, name := range found {
			if to, err := os.Readlink(name); err == nil && to == namespace {
				return name
			}
		}
	}
	return ""
}

// Whether its user is interrupted or killed, nothing of a link is left: neither process, namespace
// nor device. There is nothing to be found at the next start.
func TestNothingIsLeft(t *testing.T) {
	open(t, "rtt=1ms") // or there is no link anyway
	for _, signal := range []os.Signal{os.Interrupt, os.Kill} {
		file, cmd := again(t, "open", nil)
		namespace, err := os.Readlink(file)
		if err != nil {
			t.Fatalf("%q: %v", file, err)
		}
		if used(namespace) == "" {
			t.Fatal("nobody holds the namespace while the link is up")
		}
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		holding := used(namespace)
		for end := time.Now().Add(30 * time.Second); holding != "" && time.Now().Before(end); holding = used(namespace) {
			time.Sleep(10 * time.Millisecond)
		}
		if holding != "" {
			t.Errorf("after %v, %s still holds the namespace", signal, holding)
		}
	}
}

// The device is gone with the process that carries, even where a socket outlives it.
func TestDeviceIsGone(t *testing.T) {
	l := open(t, "rtt=1ms")
	kept, err := os.Open(l.Near.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	if err := syscall.Kill(l.process.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-l.process.Done()
	end := &End{fmt.Sprintf("/proc/self/fd/%d", kept.Fd()), nearIP, "cubic"}
	var devices []byte
	err = end.inside(func() (err error) {
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if devices, err = os.ReadFile("/proc/thread-self/net/dev"); err != nil || !bytes.Contains(devices, []byte("link0")) {
				return err
			}
		}
		return nil
	})
	if err != nil || bytes.Contains(devices, []byte("link0")) || !bytes.Contains(devices, []byte("lo:")) {
		t.Errorf("%s, %v", devices, err)
	}
}

// A user without rights is told what to do; in a user namespace of its own, it has them.
func TestRights(t *testing.T) {
	open(t, "rtt=1ms") // or there is no link anyway
	if os.Getuid() != 0 {
		t.Skip("another user takes root")
	}
	const nobody = 65534
	said, _ := again(t, "carry", &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody, NoSetGroups: false}})
	if !strings.Contains(said, "refused: a new network namespace: operation not permitted: run as root, or all of it as `unshare -Urn postage ...`") {
		t.Errorf("without rights: %s", said)
	}
	said, _ = again(t, "carry", &syscall.SysProcAttr{
		Credential: &syscall.Credential{}, Cloneflags: syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}}, // where /dev/net/tun is root's
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}},
	})
	if !strings.HasPrefix(said, "/proc/") {
		t.Errorf("in a user namespace: %s", said)
	}
}
