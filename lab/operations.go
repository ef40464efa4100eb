package lab

import (
	"math"
	"time"

	"postage/record"
)

func (w *worker) calibrate(target time.Duration) (reply, error) {
	n, err := calibrate(target, leastOps(w.instance), func(n int) (*Batch, error) {
		b, _, err := timed(w.instance, n, w.others, false, nil)
		if err == nil && w.value != record.ValueWall && b.CPUNS > b.WallNS/mostWaited {
			b.WallNS = b.CPUNS // others may have the processor for most of the time
		}
		return b, err
	})
	return reply{N: n}, err
}

// mostWaited is the ratio of wall time to CPU time from which a batch counts as waiting.
const mostWaited = 16

const mostOperations = 1 << 30 // of a batch

// fitting is the number of operations that take the target time, if n operations took elapsed.
func fitting(n, least int, target, elapsed time.Duration) int {
	return min(mostOperations, max(least, int(float64(n)*float64(target)/float64(elapsed))))
}

// leastOps is the fewest operations that the instance's batches may have.
func leastOps(i Instance) int {
	if s, ok := i.(Sized); ok {
		return s.MinOps()
	}
	return 1
}

// calibrating is how many batches of one size calibrate runs.
const calibrating = 4

// calibrate finds the number of operations that take the target time. Contenders must have batches
// of about the same time, because each begins with caches that others have used.
func calibrate(target time.Duration, least int, run func(n int) (*Batch, error)) (int, error) {
	n, tries, fastest := least, 0, time.Duration(math.MaxInt64)
	for n < mostOperations && tries < calibrating {
		b, err := run(n)
		if err != nil {
			return 0, err
		}
		elapsed := max(1, time.Duration(b.WallNS))
		tries, fastest = tries+1, min(fastest, elapsed)
		if n == least && fastest > 4*target && tries > 1 {
			return n, nil
		}
		// The fastest of some, as one that was interrupted would pass for a long one. No more than
		// tenfold at a time: the first operations are slower than the rest.
		if fastest < target/2 {
			n, tries, fastest = min(mostOperations, n*min(10, max(2, int(target/fastest)))), 0, math.MaxInt64
		}
	}
	// No further, in case an operation takes longer the more there are.
	return min(2*n, fitting(n, least, target, fastest)), nil
}
