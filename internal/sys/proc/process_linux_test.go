package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// parent starts a child of its own and says its id.
func parent() {
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
	parent := exec.Command(program, "parent")
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
	if !hasEnded(pid) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		t.Error("the child outlived its parent by 30 s")
	}
}

// gone waits until a process is no more.
func hasEnded(pid int) bool {
	for range 300 {
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(state), ") Z ") {
			return true
		}
		time.Sleep(100 * time.Millisecond)
	}
	return false
}

// The end of a session removes its folders. If this process ends first, the watchdog kills the
// session too.
func TestSession(t *testing.T) {
	for _, told := range []bool{true, false} {
		folder := filepath.Join(t.TempDir(), "data")
		if err := os.Mkdir(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		p, err := StartSession(exec.Command("sleep", "600"), folder)
		if err != nil {
			t.Fatal(err)
		}
		if told {
			p.KillGroup()
		} else {
			_ = p.watchdog.input.Close()
			_ = p.watchdog.cmd.Wait()
		}
		select {
		case <-p.Done:
		case <-time.After(30 * time.Second):
			t.Errorf("told %v: the process is still there", told)
		}
		p.KillGroup() // again
		if _, err := os.Stat(folder); !os.IsNotExist(err) {
			t.Errorf("told %v: the folder is still there: %v", told, err)
		}
	}
}

// The id of a program that has ended may belong to another process since, which is left alone.
func TestEndedIsNotKilled(t *testing.T) {
	other, err := StartSession(exec.Command("sleep", "600"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.KillGroup()
	folder, ended := filepath.Join(t.TempDir(), "data"), make(chan struct{})
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	close(ended)
	p := &Process{PID: other.PID, Done: ended}
	if p.watchdog, err = startWatchdog(-p.PID, folder); err != nil {
		t.Fatal(err)
	}
	p.KillGroup()
	if err := syscall.Kill(other.PID, 0); err != nil {
		t.Errorf("another process is gone: %v", err)
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
}

// The CPU time that a process reads of itself is the one that another reads of it.
func TestOneClock(t *testing.T) {
	before, _ := CPU()
	for x, spent := 0, before; spent-before < 50*time.Millisecond; spent, _ = CPU() {
		for range 1000 {
			x++
		}
	}
	cpu, err := CPUOf(os.Getpid())
	after, known := CPU()
	if err != nil || !known {
		t.Fatal(err, known)
	}
	if cpu-before < 50*time.Millisecond || cpu > after {
		t.Errorf("from without %v, from within %v before and %v after", cpu, before, after)
	}
	for _, pid := range []int{-1, 0, 1 << 22, 1 << 30} {
		if d, err := CPUOf(pid); !errors.Is(err, ErrNotAvailable) {
			t.Errorf("of process %d: %v, %v", pid, d, err)
		}
	}
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

// All threads of a process are assigned to a processor.
func TestAssign(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command("nice", "-n", "5", program, "parent")
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait()
	defer child.Process.Kill()
	if _, err := out.Read(make([]byte, 64)); err != nil { // it has threads now
		t.Fatal(err)
	}
	all, err := Processors()
	if err != nil {
		t.Fatal(err)
	}
	one := all[len(all)-1]
	if err := Assign(child.Process.Pid, one); err != nil {
		t.Fatal(err)
	}
	threads, err := threadsOf(strconv.Itoa(child.Process.Pid))
	if err != nil || len(threads) < 3 {
		t.Fatalf("%d threads, %v", len(threads), err)
	}
	own, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range threads {
		attr, err := unix.SchedGetAttr(id, 0)
		if err != nil {
			t.Fatal(err)
		}
		// Those that the monitor starts are as it is, the first is as this process.
		if i == 1 && attr.Policy != unix.SCHED_BATCH || i == 0 && attr.Policy != own.Policy || attr.Nice < own.Nice+5 {
			t.Errorf("thread %d: scheduling policy %d, nice %d", i, attr.Policy, attr.Nice)
		}
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(id, &set); err != nil {
			t.Fatal(err)
		}
		if !set.IsSet(one) || set.Count() != 1 {
			t.Errorf("thread %d may be on %d processors", id, set.Count())
		}
	}
	if err := Assign(1<<22, one); err == nil {
		t.Error("a process that is not there was assigned")
	}
}

// Where a machine has slow processors beside fast ones, the fast ones are used.
func TestFastest(t *testing.T) {
	folder := t.TempDir()
	for i, rate := range []string{"5200000\n", "5000000\n", "3900000\n"} {
		of := filepath.Join(folder, fmt.Sprintf("cpu%d", i), "cpufreq")
		if err := errors.Join(os.MkdirAll(of, 0o777), os.WriteFile(filepath.Join(of, "cpuinfo_max_freq"), []byte(rate), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	if got := fmt.Sprint(fastest([]int{0, 1, 2}, folder), fastest([]int{1, 2}, t.TempDir())); got != "[0 1] [1 2]" {
		t.Error(got)
	}
}
