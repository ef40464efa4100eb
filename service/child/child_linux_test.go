package child

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// As a child of the tests this program starts a child of its own and says its id.
func TestMain(m *testing.M) {
	if os.Getenv("CHILD_TEST_PARENT") == "" {
		os.Exit(m.Run())
	}
	p, err := Start(exec.Command("sleep", "600"), syscall.SIGKILL)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(p.PID)
	time.Sleep(10 * time.Minute)
}

// A program does not outlive its parent, even one that is killed.
func TestDiesWithParent(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(program)
	parent.Env = append(os.Environ(), "CHILD_TEST_PARENT=1")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 64)
	n, err := out.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	if err != nil {
		t.Fatalf("the parent says %q", text[:n])
	}
	if err := syscall.Kill(pid, 0); err != nil {
		t.Fatalf("process %d is not there while its parent is: %v", pid, err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	for range 300 {
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(state), ") Z ") {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	t.Error("the child outlived its parent by 30 s")
}

// The end of a program is told, with how it ended; one that does not start is an error.
func TestStart(t *testing.T) {
	p, err := Start(exec.Command("sh", "-c", "exit 7"), syscall.SIGKILL)
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done
	if p.Err() == nil || p.Err().Error() != "exit status 7" {
		t.Errorf("ended with %v", p.Err())
	}
	if _, err := Start(exec.Command("/nowhere/at/all"), syscall.SIGKILL); err == nil {
		t.Error("started what is not there")
	}
}
