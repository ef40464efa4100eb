package lab

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"postage/internal/proc"
	"postage/record"
)

func TestInPieces(t *testing.T) {
	for _, tt := range []struct{ n, cycle, wantN, wantPieces int }{
		{2127, 256, 2112, 33},       // a quarter of the corpus each
		{150_000, 256, 147_456, 32}, // 18 times the corpus each
		{340, 256, 336, 42},         // an operation takes 22 us: 8 messages each
		{75, 256, 75, 0},            // 128 kinds of pieces: 24 rounds have too few of each
		{8, 1, 8, 8},                // operations of a millisecond, all alike
		{7, 1, 7, 0},                // too few
		{1000, 0, 1000, 0},          // no cycle
		{4000, 97, 3977, 41},
		{125, 7, 123, 41}, // 7 kinds of 3 operations
	} {
		if n, pieces := inPieces(tt.n, tt.cycle, DefaultRounds); n != tt.wantN || pieces != tt.wantPieces {
			t.Errorf("inPieces(%d, %d) = %d, %d, want %d, %d", tt.n, tt.cycle, n, pieces, tt.wantN, tt.wantPieces)
		}
	}
}

func TestRoundsOfPieces(t *testing.T) {
	for _, tt := range []struct{ n, pieces, cycle, want int }{
		{2112, 33, 256, 3},    // 25 of each of 4 kinds
		{147_456, 32, 256, 1}, // all alike
		{2000, 50, 1000, 9},   // 25 kinds
		{64, 32, 128, 24},     // as many as a block has at most
		{1000, 0, 0, 0},       // not in pieces
	} {
		if got := roundsOf(tt.n, tt.pieces, tt.cycle); got != tt.want {
			t.Errorf("roundsOf(%d, %d, %d) = %d, want %d", tt.n, tt.pieces, tt.cycle, got, tt.want)
		}
	}
}

// Batches keep nearly their size, and pieces of one kind always have the same work.
func TestPiecesAreOfEqualWork(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, cycle := rapid.IntRange(1, 1<<20).Draw(t, "n"), rapid.IntRange(0, 1<<12).Draw(t, "cycle")
		operations, pieces := inPieces(n, cycle, DefaultRounds)
		if pieces == 0 {
			if operations != n {
				t.Fatalf("without pieces %d operations became %d", n, operations)
			}
			return
		}
		piece := operations / pieces
		if operations%pieces != 0 || operations > n || n-operations >= piece || pieces < leastPieces || pieces > 2*mostPieces {
			t.Fatalf("%d operations in %d pieces", operations, pieces)
		}
		if k := kinds(piece, cycle); piece*k%cycle != 0 || DefaultRounds*pieces < leastOfWork*k {
			t.Fatalf("%d kinds of pieces of %d operations, and a cycle of %d", k, piece, cycle)
		}
	})
}

// The fast pieces do not move with bursts that hit two pieces of three, nor with work that differs
// from one part of the corpus to the next.
func TestFastPieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	const n, count = 2048, 32
	fast := func(burst float64, batches, cycle int) float64 {
		p := pieces{next: rng.IntN(4)}
		slowed := func(batch int) float64 { return 1 + 0.5*float64(batch%3/2) } // each third
		for batch := range batches {
			kind := p.next
			for i := range count {
				ms := 0.2 * (1 + 0.1*float64((kind+i)%4)) * math.Exp(0.01*rng.NormFloat64())
				if rng.Float64() < burst {
					ms += rng.ExpFloat64()
				}
				p.each[i] = time.Duration(ms * 1e6 * slowed(batch))
			}
			p.keep(n, count, cycle, true)
		}
		all, each := p.fast(count)
		for batch, ns := range each {
			if got := float64(ns) / float64(all) / slowed(batch); got < 0.98 || got > 1.1 {
				t.Errorf("%.2f bursts: batch %d is %.3f of what it was made of", burst, batch, got)
			}
		}
		if len(each) != batches {
			t.Errorf("%d batches", len(each))
		}
		return all.Seconds() * 1e3
	}
	quiet, bursts := fast(0, 24, 256), fast(0.67, 24, 256) // four kinds
	// Eight batches have four pieces of each of 64 kinds, of which neighbours hit one of five.
	for i, got := range []float64{quiet, fast(0, 8, 4096), fast(0.2, 8, 4096)} {
		if want := 32 * 0.2 * 1.15; math.Abs(got/want-1) > 0.02 {
			t.Errorf("%d: a batch of fast pieces takes %.3f ms, want %.3f", i, got, want)
		}
	}
	if math.Abs(bursts/quiet-1) > 0.015 {
		t.Errorf("with bursts %.3f ms, without %.3f", bursts, quiet)
	}
}

func TestTooFewPieces(t *testing.T) {
	var p pieces
	if got, each := p.fast(32); got != 0 || each != nil {
		t.Error("no pieces have a time")
	}
	for range fewestOfWork - 1 {
		p.keep(8, 8, 8, true) // eight kinds of one piece each
	}
	if got, _ := p.fast(8); got != 0 {
		t.Errorf("%d of each kind have a time, %v", fewestOfWork-1, got)
	}
	for i := range p.each {
		p.each[i] = time.Millisecond
	}
	p.keep(8, 8, 8, false)
	if got, _ := p.fast(8); got != 0 {
		t.Errorf("a batch that does not count, does: %v", got)
	}
}

// steady remembers how many operations it was asked for.
type steady struct {
	work
	ran []int
}

func (s *steady) Cycle() int { return 1 }
func (s *steady) Run(n int) error {
	s.ran = append(s.ran, n)
	if n == 13 {
		return errors.New("thirteen")
	}
	return nil
}

// A worker runs batches of a cyclic contender in pieces, also of one that is slowed, and forgets
// those that warm it up.
func TestWorkerRunsPieces(t *testing.T) {
	s := &steady{}
	w := &worker{instance: slow{s, 0.05}}
	ctx := context.Background()
	if _, err := w.answer(ctx, request{Op: opWarm, N: 320, Pieces: 32}); err != nil {
		t.Fatal(err)
	}
	if len(s.ran) != 64 || s.ran[0] != 10 {
		t.Fatalf("two batches of 320 operations ran as %v", s.ran)
	}
	for range 3 {
		if _, err := w.answer(ctx, request{Op: opRun, N: 320, Pieces: 32}); err != nil {
			t.Fatal(err)
		}
	}
	if fast, each := w.pieces.fast(32); len(w.pieces.counted) != 96 || fast == 0 || len(each) != 3 {
		t.Errorf("%d pieces count, %v, %v, want 96 in three batches", len(w.pieces.counted), fast, each)
	}
	if _, err := w.answer(ctx, request{Op: opRun, N: 13 * 32, Pieces: 32}); err == nil {
		t.Error("a piece that failed did not fail the batch")
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

// A batch takes as long where others have the processor most of the time: here 3750 operations.
// By the clock it comes out at some 700.
// Where they have nearly all of it, that is not told from waiting.
func TestCalibrateWhereOthersWork(t *testing.T) {
	w := &worker{instance: interrupted{new(int)}, value: record.ValueCost}
	before, _ := proc.CPU()
	start := time.Now()
	answer, err := w.calibrate(batchTarget)
	spent, known := proc.CPU()
	if share := float64(spent-before) / float64(time.Since(start)); err == nil && known && share < 2.0/mostWaited {
		t.Skipf("the machine is too busy: the test had %.0f%% of a processor, where a fifth is meant", 100*share)
	}
	if err != nil || answer.N < 1500 {
		t.Errorf("%+v, %v", answer, err)
	}
}

// What a process does first is slower: its memory is new, its caches are cold. Batches are as long
// as they should be when it is warm.
func TestCalibrateWarm(t *testing.T) {
	const warmAfter, perOp = 30_000_000, 3500
	var spent int64
	n, err := calibrate(batchTarget, 1, record.ValueCost, func(n int) (*Batch, error) {
		wall := int64(n) * perOp
		if spent < warmAfter {
			wall *= 2
		}
		spent += wall
		return &Batch{WallNS: wall}, nil
	})
	if want := int(batchTarget) / perOp; err != nil || n < want*95/100 || n > want*105/100 {
		t.Errorf("%d operations (%v), want about %d", n, err, want)
	}
}

// The first operation of all may take long, such as one that compiles; the others do not.
func TestCalibrateFirstIsLong(t *testing.T) {
	const perOp = 5000
	first := int64(10 * batchTarget)
	n, err := calibrate(batchTarget, 1, record.ValueCost, func(n int) (*Batch, error) {
		wall := int64(n)*perOp + first
		first = 0
		return &Batch{WallNS: wall}, nil
	})
	if want := int(batchTarget) / perOp; err != nil || n < want*95/100 || n > want*105/100 {
		t.Errorf("%d operations (%v), want about %d", n, err, want)
	}
}

// The time of a bad benchmark grows with the square of N. Its batches take neither nothing nor
// forever, so that the growth can be seen.
func TestCalibrateSquare(t *testing.T) {
	for perSquare := 0.01; perSquare < 100; perSquare *= 1.7 {
		took := func(n int) time.Duration { return time.Duration(perSquare * float64(n) * float64(n)) }
		n, err := calibrate(batchTarget, 1, record.ValueCost, func(n int) (*Batch, error) {
			return &Batch{WallNS: took(n).Nanoseconds()}, nil
		})
		if err != nil || took(n) > 4*batchTarget || took(n) < batchTarget/50 {
			t.Errorf("%g ns times N squared: %d operations take %v (%v), want about %v", perSquare, n, took(n), err, batchTarget)
		}
	}
}

// Where the mean of all batches is the value, the number of operations is by it too: batches that
// differ by a fifth would otherwise give one contender batches a third longer than another's, and
// an operation took 5% less time in them.
func TestCalibrateByMean(t *testing.T) {
	const perOp, runs = 85_000, 200
	random := rand.New(rand.NewPCG(1, 2))
	want := float64(batchTarget) / perOp
	mean, squares := 0.0, 0.0
	for range runs {
		n, err := calibrate(batchTarget, 8, record.ValueWall, func(n int) (*Batch, error) {
			return &Batch{WallNS: int64(float64(n*perOp) * math.Exp(0.2*random.NormFloat64()))}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		x := math.Log(float64(n) / want)
		mean, squares = mean+x/runs, squares+x*x/runs
	}
	if deviation := math.Sqrt(squares - mean*mean); math.Abs(mean) > 0.02 || deviation > 0.07 {
		t.Errorf("%.1f%% too many, with a standard deviation of %.1f%%", 100*mean, 100*deviation)
	}
}
