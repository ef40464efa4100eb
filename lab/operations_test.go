package lab

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"postage/internal/sys/proc"
	"postage/record"
)

// Whatever the first batches meet, such as a compiler, cold caches or another program, no batch has
// far fewer operations than it should.
func TestCalibrateFirstBatches(t *testing.T) {
	const perOp = 5 * time.Microsecond
	steady := func(n int) time.Duration { return time.Duration(n) * perOp }
	for name, took := range map[string]func(batch, n int, before time.Duration) time.Duration{
		"nothing": func(_, n int, _ time.Duration) time.Duration { return steady(n) },
		"a one-off cost": func(batch, n int, _ time.Duration) time.Duration {
			if batch == 1 {
				return steady(n) + 10*batchTarget
			}
			return steady(n)
		},
		"another program, for less than a batch": func(batch, n int, _ time.Duration) time.Duration {
			if batch == 1 {
				return steady(n) + batchTarget*3/8
			}
			return steady(n)
		},
		"another program, for a while": func(batch, n int, _ time.Duration) time.Duration {
			if batch <= 2 {
				return steady(n) + batchTarget
			}
			return steady(n)
		},
		"cold caches, for 30 ms": func(_, n int, before time.Duration) time.Duration {
			if before < 30*time.Millisecond {
				return 2 * steady(n)
			}
			return steady(n)
		},
	} {
		batch, before := 0, time.Duration(0)
		n, err := calibrate(batchTarget, 1, func(n int) (*Batch, error) {
			batch++
			d := took(batch, n, before)
			before += d
			return &Batch{WallNS: d.Nanoseconds()}, nil
		})
		if want := int(batchTarget / perOp); err != nil || n < want*2/3 || n > want*11/10 {
			t.Errorf("%s: %d operations (%v), want about %d", name, n, err, want)
		}
	}
}

// Operations that take longer than a batch should are found out after two or a few of them, and
// there is one to a batch, or the fewest that it can have.
func TestCalibrateLongOperations(t *testing.T) {
	for _, tt := range []struct {
		perOp time.Duration
		least int
		calls int // at most
	}{
		{time.Minute, 1, 2},
		{5 * batchTarget, 1, 2},
		{batchTarget, 8, 2},
		{3 * batchTarget, 1, 2 * calibrating},
		{batchTarget, 1, 2 * calibrating},
	} {
		calls := 0
		n, err := calibrate(batchTarget, tt.least, func(n int) (*Batch, error) {
			calls++
			return &Batch{WallNS: int64(n) * tt.perOp.Nanoseconds()}, nil
		})
		if err != nil || n != tt.least || calls > tt.calls {
			t.Errorf("%v an operation: %d to a batch (%v) after %d batches, want %d after at most %d", tt.perOp, n, err, calls, tt.least, tt.calls)
		}
	}
}

// The time of a bad benchmark grows with the square of N. Its batches take neither nothing nor
// forever, so that the growth can be seen.
func TestCalibrateSquare(t *testing.T) {
	for perSquare := 0.01; perSquare < 100; perSquare *= 1.7 {
		took := func(n int) time.Duration { return time.Duration(perSquare * float64(n) * float64(n)) }
		n, err := calibrate(batchTarget, 1, func(n int) (*Batch, error) {
			return &Batch{WallNS: took(n).Nanoseconds()}, nil
		})
		if err != nil || took(n) > 4*batchTarget || took(n) < batchTarget/50 {
			t.Errorf("%g ns times N squared: %d operations take %v (%v), want about %v", perSquare, n, took(n), err, batchTarget)
		}
	}
}

// Batches that differ by a fifth give one contender batches hardly longer than another's.
func TestCalibrateWhereBatchesDiffer(t *testing.T) {
	const perOp, runs = 85_000, 200
	random := rand.New(rand.NewPCG(1, 2))
	want := float64(batchTarget) / perOp
	mean, squares := 0.0, 0.0
	for range runs {
		n, err := calibrate(batchTarget, 8, func(n int) (*Batch, error) {
			return &Batch{WallNS: int64(float64(n*perOp) * math.Exp(0.2*random.NormFloat64()))}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		x := math.Log(float64(n) / want)
		mean, squares = mean+x/runs, squares+x*x/runs
	}
	if deviation := math.Sqrt(squares - mean*mean); math.Abs(mean) > 0.25 || deviation > 0.2 {
		t.Errorf("%.1f%% too many, with a standard deviation of %.1f%%", 100*mean, 100*deviation)
	}
}

// interrupted is a contender whose processor others have most of the time.
type interrupted struct{ done *int }

func (interrupted) Prove(context.Context) error { return nil }
func (interrupted) Close() error                { return nil }
func (c interrupted) Run(n int) error {
	for range n {
		for start := time.Now(); time.Since(start) < 2*time.Microsecond; {
		}
		if *c.done++; *c.done%128 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	return nil
}

// A batch takes as long where others have the processor most of the time. By the clock it would
// come out at some fifth of the operations. Where others have nearly all of it, that is not told
// from waiting.
func TestCalibrateWhereOthersWork(t *testing.T) {
	w := &worker{instance: interrupted{new(int)}, value: record.ValueCost}
	before, _ := proc.CPU()
	start := time.Now()
	answer, err := w.calibrate(batchTarget)
	spent, known := proc.CPU()
	if share := float64(spent-before) / float64(time.Since(start)); err == nil && known && share < 2.0/mostWaited {
		t.Skipf("the machine is too busy: the test had %.0f%% of a processor, where a fifth is meant", 100*share)
	}
	if want := int(batchTarget / (2 * time.Microsecond)); err != nil || answer.N < want*2/5 {
		t.Errorf("%+v, %v, want about %d operations", answer, err, want)
	}
}
