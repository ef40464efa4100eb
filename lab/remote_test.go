package lab

import (
	"context"
	"slices"
	"testing"
	"time"

	"postage/record"
)

// started is a benchmark that sets something up within its timer.
type started struct {
	Runner
	fixed, perOp, untimed time.Duration
}

func (s *started) Batch(_ context.Context, n int) (*Batch, error) {
	took := time.Duration(n) * s.perOp
	if n == 1 {
		took += s.fixed
	}
	return &Batch{WallNS: 5 * took.Nanoseconds(), Took: max(took, time.Duration(n)*s.untimed/4)}, nil
}

// However long a start takes, a batch is as long as its operations are to be seen. One that stops
// its timer each time takes no minutes.
func TestCalibratesBehindAStart(t *testing.T) {
	for _, of := range []struct {
		benchmark   started
		least, most int
	}{
		{started{perOp: 300}, 20_000, 70_000},
		{started{perOp: time.Microsecond, fixed: 50 * time.Millisecond}, 25_000, 100_000},
		{started{perOp: time.Microsecond, fixed: 7 * time.Millisecond}, 5_000, 20_000},
		{started{perOp: 30 * time.Millisecond}, 1, 1},
		{started{perOp: 30 * time.Millisecond, fixed: 30 * time.Millisecond}, 2, 4},
		{started{perOp: time.Minute}, 1, 1},
		{started{perOp: 300, untimed: 50 * time.Microsecond}, 300, 2_000},
	} {
		answer, err := (&remote{&of.benchmark}).calibrate(t.Context(), batchTarget)
		if err != nil || answer.N < of.least || answer.N > of.most {
			t.Errorf("%+v: %d operations (%v), want %d to %d", of.benchmark, answer.N, err, of.least, of.most)
		}
	}
}

// unknown is a program that does not know the CPU time of every other batch.
type unknown struct{ Runner }

func (u *unknown) Batch(_ context.Context, n int) (*Batch, error) {
	return &Batch{WallNS: 9, CPUNS: int64(8*(n%2) - 1)}, nil
}

// A batch whose CPU time is not known has a place in the record: readers take its wall time.
func TestCPUTimeOfSomeBatches(t *testing.T) {
	r, s := &run{conductor: &Conductor{}}, &seat{entry: Entry{Case: &Case{}}, child: &remote{&unknown{}}, row: &record.Row{}}
	for s.row.N = range 4 {
		r.turn(t.Context(), s, 0)
	}
	if want := []int64{0, 7, 0, 7}; s.err != nil || !slices.Equal(s.series.CPUNS, want) {
		t.Errorf("%v: %v, want %v", s.err, s.series.CPUNS, want)
	}
}
