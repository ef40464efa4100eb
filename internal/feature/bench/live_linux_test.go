package bench

import (
	"context"
	"testing"
	"time"

	"postage/internal/stats"
)

// binaryOf builds a package's test binary, of one file.
func binaryOf(t *testing.T, text string) *Binary {
	t.Helper()
	return onGround(t, map[string]string{"go.mod": goMod, "counted_test.go": text}).binary()
}

// opened starts a benchmark, and has it ready for batches of a minute in all.
func opened(t *testing.T, binary *Binary, name string) (*live, context.Context) {
	t.Helper()
	l, err := binary.start(&Benchmark{Name: name}, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Kill)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	if err := l.Open(ctx); err != nil {
		t.Fatal(err)
	}
	return l, ctx
}

// The CPU time of a batch is what the benchmark's thread used, where it has one. The runtime's
// monitor works too after a wait for a batch's turn: see proc.CPUOfCode.
func TestMonitorIsNotCounted(t *testing.T) {
	binary := binaryOf(t, `package counted

import (
	"runtime"
	"syscall"
	"testing"
	"unsafe"
)

// threadCPU is the CPU time of this thread.
func threadCPU() int64 {
	var t syscall.Timespec
	const clock = 3 // CLOCK_THREAD_CPUTIME_ID
	if _, _, e := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&t)), 0); e != 0 {
		panic(e)
	}
	return t.Nano()
}

func BenchmarkThread(b *testing.B) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	b.ResetTimer()
	from := threadCPU()
	for range b.N {
		for end := threadCPU() + 1e6; threadCPU() < end; {
		}
	}
	b.ReportMetric(float64(threadCPU()-from)/float64(b.N), "thread-ns/op")
}
`)
	l, ctx := opened(t, binary, "BenchmarkThread")
	var beyond []float64
	for tries := 0; tries < 60 && len(beyond) < 40; tries++ {
		time.Sleep(25 * time.Millisecond) // others' batches
		b, err := l.Batch(ctx, 8)
		if err != nil {
			t.Fatal(err)
		}
		if thread := b.Counters["thread-ns/op"]; float64(b.WallNS) < thread*9/8 { // nobody else had the processor
			beyond = append(beyond, float64(b.CPUNS)/thread-1)
		}
	}
	if len(beyond) < 10 {
		t.Skip("the machine is too busy")
	}
	t.Logf("beyond the thread that runs the code, median: %.2f%%", 100*stats.Median(beyond))
	if got := stats.Median(beyond); got > 0.02 || got < -0.005 {
		t.Errorf("the CPU time of a batch is %.2f%% above its thread's, want 0", 100*got)
	}
}

// What a benchmark sets up within its timer is not in what an operation takes or allocates, and
// neither is what it does while the timer stands. An operation is long beside a stop of the timer,
// which reads two clocks.
func TestWhatIsFixedCancels(t *testing.T) {
	binary := binaryOf(t, `package counted

import "testing"

var sink int
var table []*int

func work(n int) {
	for j := range n {
		sink ^= j * sink
	}
}

func BenchmarkPlain(b *testing.B) {
	for range b.N {
		work(30_000)
	}
}

func BenchmarkStarted(b *testing.B) {
	work(20_000_000)
	for range 10_000 {
		table = append(table[:0], new(int))
	}
	for range b.N {
		work(30_000)
	}
}

func BenchmarkReports(b *testing.B) {
	for range b.N {
		work(30_000)
	}
	b.ReportMetric(5, "ns/op")
	b.ReportMetric(2, "allocs/op")
}

func BenchmarkStops(b *testing.B) {
	for range b.N {
		b.StopTimer()
		work(60_000)
		b.StartTimer()
		work(30_000)
	}
}
`)
	const n = 400
	perOp := func(name string) (cpu []float64, allocs int64) {
		l, ctx := opened(t, binary, name)
		for range 7 {
			b, err := l.Batch(ctx, n)
			if err != nil {
				t.Fatal(err)
			}
			cpu, allocs = append(cpu, float64(b.CPUNS)/n), max(allocs, b.Allocs)
		}
		if _, err := l.Close(ctx); err != nil {
			t.Error(err)
		}
		return cpu, allocs
	}
	plain, _ := perOp("BenchmarkPlain")
	for _, name := range []string{"BenchmarkStarted", "BenchmarkStops"} {
		cpu, allocs := perOp(name)
		if ratio := stats.Median(cpu) / stats.Median(plain); ratio < 0.7 || ratio > 1.4 || allocs > 1000 {
			t.Errorf("%s: %.3f times as long as without (%.0f ns), %d allocations", name, ratio, stats.Median(cpu), allocs)
		}
	}
	reported, allocs := perOp("BenchmarkReports")
	if stats.Median(reported) != 5 || allocs != 2*n {
		t.Errorf("what it reports itself: %v ns/op, %d allocations", reported, allocs)
	}
}
