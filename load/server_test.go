package load

import (
	"os/exec"
	"testing"
	"time"
)

// The CPU time of a process has that of its children, those that have ended too.
func TestTreeCPU(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "(i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done); echo done; read x")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	used, err := treeCPU(cmd.Process.Pid)
	if err != nil || used < 20*time.Millisecond {
		t.Errorf("%v, %v", used, err)
	}
	_ = in.Close()
	_ = cmd.Wait()
	if own := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(); used > own+50*time.Millisecond {
		t.Errorf("%v, and the kernel says %v", used, own)
	}
}
