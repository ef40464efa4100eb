package proc

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"postage/internal/stats"
)

// The CPU time of code is what the threads that run it use. After a wait for input, as before each
// batch, the runtime's monitor takes a tenth of the first milliseconds, too.
func TestMonitorIsNotCounted(t *testing.T) {
	var pipe [2]int
	if err := unix.Pipe(pipe[:]); err != nil { // a blocking one, as a worker's standard input
		t.Fatal(err)
	}
	defer unix.Close(pipe[0])
	other := exec.Command("sh", "-c", "while sleep 0.025; do echo; done")
	other.Stdout = os.NewFile(uintptr(pipe[1]), "pipe")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	}()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const code, threads = 0, 1
	var beyond [2][]float64
	for tries := 0; tries < 80 && len(beyond[code]) < 40; tries++ {
		if _, err := unix.Read(pipe[0], make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		own, err := clock(unix.CLOCK_THREAD_CPUTIME_ID)
		if err != nil {
			t.Fatal(err)
		}
		var before, after [2]time.Duration
		var known [2]bool
		before[code], known[code] = CPUOfCode()
		before[threads], known[threads] = CPU()
		if !known[code] || !known[threads] {
			t.Fatal("CPU time is not known on Linux")
		}
		for end := own + 8*time.Millisecond; ; {
			now, err := clock(unix.CLOCK_THREAD_CPUTIME_ID)
			if err != nil {
				t.Fatal(err)
			}
			if now >= end {
				own = now - own
				break
			}
		}
		after[code], _ = CPUOfCode()
		after[threads], _ = CPU()
		if time.Since(begun) > own*9/8 { // others had the processor, and the scheduler more to do
			continue
		}
		for i := range beyond {
			beyond[i] = append(beyond[i], float64(after[i]-before[i])/float64(own)-1)
		}
	}
	if len(beyond[code]) < 10 {
		t.Skip("the machine is too busy")
	}
	t.Logf("beyond the thread that runs the code, median: %.2f%%, with the monitor %.2f%%", 100*stats.Median(beyond[code]), 100*stats.Median(beyond[threads]))
	if got := stats.Median(beyond[code]); got > 0.01 || got < -0.005 {
		t.Errorf("the CPU time of code is %.2f%% above its thread's, want 0", 100*got)
	}
}

// The thread taken for the monitor runs no code: work that keeps all processors busy adds nothing
// to it.
func TestMonitorRunsNoCode(t *testing.T) {
	if monitor == 0 {
		t.Fatal("the monitor's thread is not known")
	}
	spent := func() time.Duration {
		all, _ := CPU()
		code, _ := CPUOfCode()
		return all - code
	}
	before := spent()
	done := make(chan bool)
	workers := 2 * runtime.GOMAXPROCS(0)
	for range workers {
		go func() {
			for end := time.Now().Add(200 * time.Millisecond); time.Now().Before(end); {
				if unix.Gettid() == monitor {
					t.Error("the thread taken for the monitor runs a goroutine")
					break
				}
			}
			done <- true
		}()
	}
	for range workers {
		<-done
	}
	if took := spent() - before; took > 50*time.Millisecond {
		t.Errorf("the thread taken for the monitor used %v of 200ms", took)
	}
}
