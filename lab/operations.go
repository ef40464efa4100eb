package lab

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"postage/record"
)

func (w *worker) calibrate(target time.Duration) (reply, error) {
	least := leastOps(w.instance)
	n, err := calibrate(target, least, w.value, func(n int) (*Batch, error) {
		b, err := timed(w.instance, n, nil, 0, nil)
		if err == nil && w.value != record.ValueWall && b.CPUNS > b.WallNS/mostWaited {
			b.WallNS = b.CPUNS // others may have the processor for most of the time
		}
		return b, err
	})
	if err != nil {
		return reply{}, err
	}
	repeats := cycle(w.instance)
	if runtime.GOMAXPROCS(0) > 1 || repeats > 0 && w.hasOthers(n) {
		return reply{N: n}, nil
	}
	n, count := inPieces(n, repeats, DefaultRounds)
	if count == 0 {
		return reply{N: n}, nil
	}
	var p pieces // fast ones are found even while something else disturbs every batch
	for range calibrating {
		if _, err := timed(w.instance, n, func(start time.Time) error { return p.run(w.instance, n, count, start) }, 0, nil); err != nil {
			return reply{}, err
		}
		p.keep(n, count, repeats, true)
	}
	if fast, _ := p.fast(count); fast > 0 {
		n, count = inPieces(fitting(n, least, target, fast), repeats, DefaultRounds)
	}
	return reply{N: n, Pieces: count}, nil
}

// hasOthers reports whether batches of the contender have other goroutines do some of the work,
// which the clock readings between their pieces would not show: each one has, as the runtime too
// has goroutines that work at times, such as after a collection.
func (w *worker) hasOthers(n int) bool {
	samples := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}, {Name: "/sched/latencies:seconds"}}
	read := func() (created, scheduled uint64) {
		metrics.Read(samples)
		for _, count := range samples[1].Value.Float64Histogram().Counts {
			scheduled += count
		}
		return samples[0].Value.Uint64(), scheduled
	}
	has := false
	runtime.GC() // collecting and sweeping has goroutines of its own
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for range calibrating {
		created, scheduled := read()
		for range mostPieces {
			if w.instance.Run(max(1, n/mostPieces)) != nil {
				return false // the next batch says so
			}
		}
		createdAfter, scheduledAfter := read()
		if has = createdAfter > created || scheduledAfter > scheduled+othersSeen; !has {
			break
		}
	}
	return has
}

// mostWaited is how many times its CPU time a batch takes that waits.
const mostWaited = 16

// othersSeen is how many times goroutines may be scheduled in a batch by chance. One in eight is
// counted.
const othersSeen = 2

// calibrating is how many batches find out how many operations one should have. Where the mean of
// all batches is the value, single ones differ by a fifth, and it takes as many as fill
// calibratingMean.
const calibrating, calibratingMean = 5, 250 * time.Millisecond

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

// cycle is the instance's, 0 if it has none.
func cycle(i Instance) int {
	if c, ok := i.(Cyclic); ok {
		return c.Cycle()
	}
	return 0
}

// calibrate finds the number of operations, at least so many, that take the target time once their
// process is warm. Contenders are to have batches of the same time: each begins with cold caches.
func calibrate(target time.Duration, least int, value record.Value, run func(n int) (*Batch, error)) (int, error) {
	// The fastest of some batches, as one that was interrupted would pass for a long one, and their
	// geometric mean.
	times := func(n, batches int, enough time.Duration) (fastest, mean time.Duration, err error) {
		logs := 0.0
		fastest = math.MaxInt64
		for i := range batches {
			b, err := run(n)
			if err != nil {
				return 0, 0, err
			}
			took := max(1, time.Duration(b.WallNS))
			logs += math.Log(float64(took))
			fastest, mean = min(fastest, took), time.Duration(math.Exp(logs/float64(i+1)))
			if fastest < enough || n == least && fastest > 4*target && i > 0 {
				break
			}
		}
		return fastest, mean, nil
	}
	n := least
	for n < mostOperations {
		elapsed, _, err := times(n, 3, target/2)
		if err != nil || n == least && elapsed > 4*target {
			return n, err
		}
		if elapsed >= target/2 {
			n = fitting(n, least, target, elapsed)
			break
		}
		// No more than tenfold at a time: the first operations are slower than the rest.
		n = min(mostOperations, n*min(10, max(2, int(target/elapsed))))
	}
	batches := calibrating
	if value == record.ValueWall {
		batches = max(calibrating, int(calibratingMean/target))
	}
	elapsed, mean, err := times(n, batches, 0)
	if value == record.ValueWall {
		elapsed = mean
	}
	if err != nil {
		return 0, err
	}
	// No further, in case an operation takes longer the more there are.
	return min(2*n, fitting(n, least, target, elapsed)), nil
}
