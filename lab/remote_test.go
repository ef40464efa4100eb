package lab

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"postage/record"
)

// runs is a benchmark that others disturb, for a while each time.
type runs struct {
	Runner
	random *rand.Rand
	now    time.Duration
	until  time.Duration // of what is now
	slow   bool
	waits  float64             // the part of batches during which others have the processor for 30 ms
	perOp  func(n int) float64 // ns
}

func (r *runs) Batch(_ context.Context, n int) (*Batch, error) {
	took := time.Duration(float64(n) * r.perOp(n))
	if r.now > r.until {
		r.slow = !r.slow
		r.until = r.now + time.Duration(r.random.ExpFloat64()*float64(150*time.Millisecond))
	}
	if r.slow {
		took = took * 9 / 5
	}
	wall := took
	if r.random.Float64() < r.waits {
		wall += 30 * time.Millisecond
	}
	r.now += wall
	return &Batch{WallNS: wall.Nanoseconds(), CPUNS: took.Nanoseconds()}, nil
}

// What is linear is said to depend on N neither by chance nor for company, and what is not linear
// always is.
func TestDependsOnN(t *testing.T) {
	for name, of := range map[string]struct {
		perOp func(n int) float64
		waits float64
		most  int // warnings in 2,000 benchmarks
		least int
	}{
		"linear":    {perOp: func(int) float64 { return 300 }, most: 1},
		"quadratic": {perOp: func(n int) float64 { return float64(n) }, most: 2000, least: 2000},
		"busy":      {perOp: func(n int) float64 { return float64(n) }, waits: 0.2, most: 2000, least: 1970},
		"set up":    {perOp: func(n int) float64 { return 100 + 7e6/float64(n) }, most: 2000, least: 2000},
	} {
		warned := 0
		for seed := range uint64(2000) {
			r := &remote{&runs{random: rand.New(rand.NewPCG(1, seed)), perOp: of.perOp, waits: of.waits}}
			answer, err := r.calibrate(t.Context(), batchTarget)
			if err != nil {
				t.Fatal(err)
			}
			warned += len(answer.Warnings)
		}
		if warned < of.least || warned > of.most {
			t.Errorf("%s: %d of 2000 warned of, want %d to %d", name, warned, of.least, of.most)
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
