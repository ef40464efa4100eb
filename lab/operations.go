package lab

import (
	"math"
	"runtime"
	"time"

	"postage/internal/proc"
	"postage/record"
)

func (w *worker) calibrate(target time.Duration) (reply, error) {
	bytes := 0.0 // that an operation allocates
	n, err := calibrate(target, leastOps(w.instance), func(n int) (*Batch, error) {
		b, err := timed(w.instance, n, w.others, nil)
		if err == nil && w.value != record.ValueWall && b.CPUNS > b.WallNS/mostWaited {
			b.WallNS = b.CPUNS // others may have the processor for most of the time
		}
		if err == nil {
			bytes = float64(b.Bytes) / float64(n)
		}
		return b, err
	})
	if err == nil && w.value != record.ValueWall {
		collecting := bytes * priceOfByte() * float64(n)
		n = max(leastOps(w.instance), int(float64(n)*float64(target)/(float64(target)+collecting)))
	}
	return reply{N: n}, err
}

// priceOfByte is about what it costs in ns to collect a byte that is allocated: what a collection
// takes, over what is allocated until the next. It only finds how many operations take as long as a
// batch should.
func priceOfByte() float64 {
	before, _ := proc.CPUOfCode()
	runtime.GC()
	after, _ := proc.CPUOfCode()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.NextGC <= m.HeapAlloc {
		return 0
	}
	return float64(after-before) / float64(m.NextGC-m.HeapAlloc)
}

// mostWaited is how many times its CPU time a batch takes that waits.
const mostWaited = 16

const mostOperations = 1 << 30 // of a batch

// fitting is the number of operations, at least so many, that take the target time where n took
// elapsed.
func fitting(n, least int, target, elapsed time.Duration) int {
	return min(mostOperations, max(least, int(float64(n)*float64(target)/float64(elapsed))))
}

// leastOps is how many operations the instance's batches have at least.
func leastOps(i Instance) int {
	if s, ok := i.(Sized); ok {
		return s.MinOps()
	}
	return 1
}

// calibrating is how many batches find out how many operations one should have.
const calibrating = 3

// calibrate finds the number of operations, at least so many, that take the target time. Contenders
// are to have batches of about the same time: each begins with caches that others have used.
func calibrate(target time.Duration, least int, run func(n int) (*Batch, error)) (int, error) {
	took := func(n int) (time.Duration, error) {
		b, err := run(n)
		if err != nil {
			return 0, err
		}
		return max(1, time.Duration(b.WallNS)), nil
	}
	n, enough := least, target/4
	for tries := calibrating; tries > 0 && n < mostOperations; {
		elapsed, err := took(n)
		if err != nil {
			return 0, err
		}
		if n == least && elapsed > 4*target && tries < calibrating {
			return n, nil
		}
		if elapsed >= enough { // more than once, as one that was interrupted would pass for a long one
			tries--
			continue
		}
		// No more than tenfold at a time: the first operations are slower than the rest.
		n, tries = min(mostOperations, n*min(10, max(2, int(target/elapsed)))), calibrating
	}
	fastest := time.Duration(math.MaxInt64)
	for range calibrating {
		elapsed, err := took(n)
		if err != nil {
			return 0, err
		}
		fastest = min(fastest, elapsed)
	}
	// No further, in case an operation takes longer the more there are.
	return min(8*n, fitting(n, least, target, fastest)), nil
}
