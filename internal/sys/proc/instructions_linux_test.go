package proc

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

//go:noinline
func turns(n int) (sum int64) {
	for i := range n {
		sum ^= int64(i)
	}
	return sum
}

var looped atomic.Int64

func loop(n int) { looped.Store(turns(n)) }

// A loop's instructions are counted, on whatever thread they run, the same ones each time.
func TestInstructions(t *testing.T) {
	c, err := OpenInstructions()
	if errors.Is(err, ErrNotAvailable) {
		t.Skipf("this machine does not count: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	count := func(n, times int) int64 {
		before, ok := c.Count()
		var group sync.WaitGroup
		for range times {
			group.Go(func() {
				runtime.LockOSThread() // and ends with its thread
				loop(n)
			})
		}
		group.Wait()
		after, ok2 := c.Count()
		if !ok || !ok2 {
			t.Skip("this machine's counters are shared")
		}
		return after - before
	}
	count(1000, 4)
	const n = 10_000_000
	one, again, four := count(n, 1), count(n, 1), count(n, 4)
	if one < 2*n || one > 6*n {
		t.Errorf("%d instructions for %d turns of a loop", one, n)
	}
	if ratio := float64(again) / float64(one); ratio < 0.99 || ratio > 1.01 {
		t.Errorf("%d instructions, then %d", one, again)
	}
	if ratio := float64(four) / float64(one); ratio < 3.96 || ratio > 4.04 {
		t.Errorf("%d instructions on one thread, %d on four", one, four)
	}
	t.Logf("%d, %d, on four threads %d", one, again, four)
}

// All threads are counted, also after they have ended: shown by the kernel's clock of tasks, which
// every machine has.
func TestCounterOfAllThreads(t *testing.T) {
	c, err := openCounter(unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_TASK_CLOCK, unix.PerfEventOpen)
	if errors.Is(err, ErrNotAvailable) {
		t.Skipf("this machine has no perf events: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	before, ok := c.Count()
	cpuBefore, _ := CPU()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			runtime.LockOSThread()
			loop(100_000_000)
		})
	}
	group.Wait()
	after, ok2 := c.Count()
	cpuAfter, _ := CPU()
	// That clock runs on while a host has the processor. Without one of the threads it is 0.75.
	if share := float64(after-before) / float64((cpuAfter - cpuBefore).Nanoseconds()); !ok || !ok2 || share < 0.9 || share > 1.5 {
		t.Errorf("counted %d ns (%v, %v) where the process used %v", after-before, ok, ok2, cpuAfter-cpuBefore)
	}
}

// Where a counter cannot be opened that is said, and nothing stays open.
func TestInstructionsNotAvailable(t *testing.T) {
	opened, closedLater := 0, []int{}
	_, err := openCounter(unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_INSTRUCTIONS, func(*unix.PerfEventAttr, int, int, int, int) (int, error) {
		if opened++; opened > 1 {
			return 0, unix.EACCES
		}
		file, err := unix.Dup(0)
		closedLater = append(closedLater, file)
		return file, err
	})
	if !errors.Is(err, ErrNotAvailable) || !errors.Is(err, unix.EACCES) || opened != 2 {
		t.Errorf("%v after %d", err, opened)
	}
	for _, file := range closedLater {
		if _, err := unix.FcntlInt(uintptr(file), unix.F_GETFD, 0); !errors.Is(err, unix.EBADF) {
			t.Errorf("file %d is open: %v", file, err)
		}
	}
}
