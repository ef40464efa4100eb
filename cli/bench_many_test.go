package cli

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"postage/record"
)

// A hundred benchmarks in a budget that is too small for them: the command ends, each of them was
// measured or has a reason, and it takes little memory.
func TestBenchOfHundred(t *testing.T) {
	needLong(t, "compiles and measures a hundred benchmarks")
	t.Setenv("GOWORK", "off")
	folder := t.TempDir()
	var source strings.Builder
	source.WriteString("package many\n\nimport \"testing\"\n\nvar sink []byte\n")
	for i := range 100 {
		fmt.Fprintf(&source, "\nfunc BenchmarkMany%02d(b *testing.B) {\n\tfor range b.N {\n\t\tsink = make([]byte, %d)\n\t}\n}\n", i, 1+i)
	}
	for name, text := range map[string]string{"go.mod": "module example.org/many\n\ngo 1.24\n", "many_test.go": source.String()} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(built(t), "bench", "--budget", "8s", "--layouts", "1", "--out", "many.txt")
	cmd.Dir = folder
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var err error
	peak := uint64(0)
	for running := true; running; {
		select {
		case err = <-ended:
			running = false
		case <-time.After(50 * time.Millisecond):
			if process, err := procfs.NewProc(cmd.Process.Pid); err == nil {
				if status, err := process.NewStatus(); err == nil && status.VmHWM > 0 {
					peak = status.VmHWM
				}
			}
		}
	}
	rec, failed := record.Load(filepath.Join(folder, "many.txt"))
	if failed != nil {
		t.Fatalf("%v: %v\n%s", failed, err, &said)
	}
	measured, reasons := map[string]bool{}, map[string]bool{}
	for _, b := range rec.Blocks {
		measured[b.Case] = true
	}
	for i := range rec.Rows {
		if r := &rec.Rows[i]; !r.OK() {
			reasons[r.Case] = true
		}
	}
	for i := range 100 {
		if name := fmt.Sprintf("Bench/pkg=many/Many%02d", i); !measured[name] && !reasons[name] {
			t.Errorf("%s was not measured, and nothing says why", name)
		}
	}
	if len(measured) == 0 {
		t.Errorf("nothing was measured: %v\n%s", err, &said)
	}
	if peak == 0 || peak > 200e6 {
		t.Errorf("its peak memory was %d bytes: more than 200 MB", peak)
	}
	t.Logf("%d of 100 were measured, %d have a reason, peak memory %d MB", len(measured), len(reasons), peak/1e6)
}

// Without Valgrind nothing is built, and one line says how to get it.
func TestCountWithoutValgrind(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var said strings.Builder
	code := postage.run(t.Context(), []string{"bench", "--count"}, strings.NewReader(""), io.Discard, &said)
	if code != exitUsage || !strings.Contains(said.String(), "apt-get install valgrind") {
		t.Errorf("exit %d, %s", code, said.String())
	}
}
