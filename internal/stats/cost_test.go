package stats_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"postage/internal/stats"
)

// simulated is a row of a case: pieces or batches of so much code, some bytes an operation, and
// collections of which a neighbour disturbs a tenth. If it is let run, code takes as much longer as
// is usual.
type simulated struct {
	code, bytes, price float64
	pieces             bool
	usual              float64
}

// elsewhere is by how much collections are dearer as other guests use the memory.
func elsewhere(rng *rand.Rand) float64 {
	if rng.Float64() < 0.3 {
		return 0.2 * rng.ExpFloat64()
	}
	return 0
}

func (s *simulated) cost() float64 { return s.code*max(1, s.usual) + s.bytes*s.price }

const simulatedOps, simulatedCycle = 1000, 1 << 20

func (s *simulated) row(rng *rand.Rand, group string, blocks int) stats.Costed {
	c := stats.Costed{Group: group, Bytes: s.bytes, Ops: simulatedOps}
	for range blocks {
		process := math.Exp(0.006 * rng.NormFloat64())
		b := stats.CostedBlock{Cycle: simulatedCycle}
		if s.pieces {
			b.Fast = s.code * process
		}
		if s.usual > 0 {
			b.Plain = process * (s.code*s.usual*(1+0.01*rng.NormFloat64()) + s.bytes*s.price*(1+0.03*rng.NormFloat64()+elsewhere(rng)))
			b.Witness, b.Least = 20*math.Exp(0.002*math.Abs(rng.NormFloat64())), 20
		}
		left := rng.Float64() * simulatedCycle
		for range 24 {
			n := 0.0
			for left -= s.bytes * simulatedOps; left < 0; left += simulatedCycle {
				n++
			}
			cpu := s.code * process * simulatedOps * (1 + 0.01*math.Abs(rng.NormFloat64()))
			for range int(n) {
				cpu += simulatedCycle * s.price * (1 + 0.03*rng.NormFloat64())
				if rng.Float64() < 0.1 {
					cpu += simulatedCycle * s.price * 0.25 * rng.ExpFloat64()
				}
			}
			b.CPU, b.Collections = append(b.CPU, cpu), append(b.Collections, n)
		}
		c.Blocks = append(c.Blocks, b)
	}
	return c
}

// A cost is code and what is paid for garbage: the interval of the ratio to a row without garbage
// contains it, whether or not there are pieces, and rows may differ in what a byte costs.
func TestCosts(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	for _, tt := range []struct {
		name     string
		one, two simulated
		apart    float64 // by how much a row that is an exception is taken to be nearer to the others
	}{
		{"alike", simulated{1000, 400, 0.5, true, 0}, simulated{1000, 400, 0.5, true, 0}, 0},
		{"nothing allocated", simulated{1000, 0, 0.5, true, 0}, simulated{700, 0, 0.5, true, 0}, 0},
		{"against one without garbage", simulated{1000, 400, 0.5, true, 0}, simulated{1000, 0, 0.5, true, 0}, 0},
		{"dearer bytes", simulated{1000, 800, 0.6, true, 0}, simulated{1000, 800, 0.5, true, 0}, 0},
		{"let run", simulated{1000, 400, 0.5, true, 1.03}, simulated{1000, 0, 0.5, true, 1.03}, 0},
		{"let run, dearer bytes", simulated{1000, 800, 0.9, true, 1.02}, simulated{1000, 800, 0.5, true, 1.02}, 0.03},
		{"let run in batches", simulated{1000, 400, 0.5, false, 1}, simulated{500, 100, 0.5, false, 1}, 0},
		{"unusual", simulated{1000, 0, 0, true, 1.10}, simulated{1000, 800, 0.5, true, 1.03}, 0.02},
		{"unusual, few bytes", simulated{1000, 0, 0, true, 1.20}, simulated{1000, 30, 0.5, true, 1.03}, 0.02},
		{"whole batches", simulated{1000, 400, 0.5, false, 0}, simulated{500, 100, 0.5, false, 0}, 0},
	} {
		const comparisons, blocks = 200, 8
		truth := tt.one.cost() / tt.two.cost()
		missed, off, width := 0, 0.0, 0.0
		for range comparisons {
			costs := stats.NewCosts([]stats.Costed{tt.one.row(rng, "one", blocks), tt.two.row(rng, "two", blocks)})
			c := stats.Paired(costs.Differences(0, 1, nil, nil), 0.005)
			if c.Low > math.Log(truth)+tt.apart || c.High < math.Log(truth)-tt.apart {
				missed++
			}
			off += (c.Value - math.Log(truth)) / comparisons
			width += (c.High - c.Low) / 2 / comparisons
		}
		t.Logf("%s: missed %d of %d, ±%.2f%%, off by %+.2f%%", tt.name, missed, comparisons, 100*width, 100*off)
		if missed > 24 || math.Abs(off) > max(0.01, tt.apart) || width > 0.055 {
			t.Errorf("%s: missed %d of %d, ±%.2f%%, off by %+.2f%%", tt.name, missed, comparisons, 100*width, 100*off)
		}
	}
}

// Where other guests of a host slow its processor for some rounds, now by much and now by less,
// batches that were not slowed tell 5% from nothing.
func TestSlowedRounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 3))
	const comparisons, blocks, rounds = 200, 6, 9
	missed, widths := 0, []float64(nil)
	for range comparisons {
		rows := []stats.Costed{{Group: "one", Ops: 1}, {Group: "two", Ops: 1}}
		for range blocks {
			slow := 1.0
			var b [2]stats.CostedBlock
			for range rounds {
				if rng.IntN(4) == 0 {
					slow = 1 + 0.7*rng.Float64()
				}
				for i, code := range []float64{1050, 1000} {
					each := code * slow * math.Exp(0.01*rng.NormFloat64())
					if rng.IntN(8) == 0 {
						each *= 1.3 // a batch alone
					}
					b[i].Each, b[i].CPU = append(b[i].Each, each), append(b[i].CPU, 1.1*each)
					b[i].Fast = slices.Min(b[i].Each)
				}
			}
			for i := range rows {
				rows[i].Blocks = append(rows[i].Blocks, b[i])
			}
		}
		costs := stats.NewCosts(rows)
		c := stats.Paired(costs.Differences(0, 1, nil, nil), 0.05)
		if truth := math.Log(1.05); c.Low > truth || c.High < truth {
			missed++
		}
		widths = append(widths, (c.High-c.Low)/2)
	}
	width := stats.Median(widths)
	if t.Logf("missed %d of %d, ±%.2f%%", missed, comparisons, 100*width); missed > 20 || width > 0.013 {
		t.Errorf("missed %d of %d, ±%.2f%%", missed, comparisons, 100*width)
	}
}

// parts are those of a block where a row is slowed by that power of the witness, which knows of
// three quarters of what slows each.
func parts(rng *rand.Rand, power float64) stats.Slope {
	const squares = 20
	return stats.Slope{Products: 0.75*power*squares + 0.6*math.Sqrt(squares)*rng.NormFloat64(), Squares: squares}
}

// Where a host is now faster and now slower in whole blocks, and not always as much in the rounds
// as where rows are let run, and what slows one row slows another less, an interval contains what
// is true at full speed.
func TestSlowedBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 5))
	often := func(share, least, most float64) float64 {
		if rng.Float64() < share {
			return least + (most-least)*rng.Float64()
		}
		return 1
	}
	// Another guest has the core's other half, for blocks or for moments, which pieces escape.
	halved := func(share float64) func() (rounds float64, letRun [2]float64) {
		return func() (rounds float64, letRun [2]float64) {
			slow := often(share, 1.9, 2.1)
			return often(share, 1.5, 1.6), [2]float64{slow, slow}
		}
	}
	bursts := func() (rounds float64, letRun [2]float64) {
		return 1, [2]float64{often(0.7, 1, 2.2), often(0.7, 1, 2.2)}
	}
	alike := func() (rounds float64, letRun [2]float64) {
		slow := math.Exp(0.04 * rng.NormFloat64())
		return slow, [2]float64{slow, slow}
	}
	for _, tt := range []struct {
		name              string
		slow              func() (rounds float64, letRun [2]float64) // what the witness takes
		powers            [2]float64
		most, width, bias float64
	}{
		{"a little", alike, [2]float64{1, 1}, 0.1, 0.05, 0.01}, {"0.3 halved", halved(0.3), [2]float64{0.72, 0.62}, 0.1, 0.06, 0.015},
		{"0.7 halved", halved(0.7), [2]float64{0.72, 0.62}, 0.12, 0.1, 0.02}, {"in bursts", bursts, [2]float64{0.72, 0.62}, 0.1, 0.06, 0.015}, {"in bursts, half unseen", bursts, [2]float64{1.4, 1.3}, 0.08, 0.08, 0.015},
		{"one hardly", bursts, [2]float64{0.85, 0.4}, 0.1, 0.08, 0.03},
	} {
		const comparisons, blocks = 400, 8
		one, two := simulated{1000, 1600, 0.5, true, 1.03}, simulated{1000, 0, 0.5, true, 1.03}
		missed, width, off, truth := 0.0, 0.0, 0.0, math.Log(one.cost()/two.cost())
		for range comparisons {
			rows := []stats.Costed{one.row(rng, "one", blocks), two.row(rng, "two", blocks)}
			for b := range blocks {
				rounds, letRun := tt.slow()
				for i := range rows {
					of := &rows[i].Blocks[b]
					for range of.CPU {
						of.Each = append(of.Each, 1000*rounds*math.Exp(0.002*rng.NormFloat64()))
					}
					of.Fast, of.Plain, of.Witness = 1000*rounds, of.Plain*math.Pow(letRun[i], tt.powers[i]), of.Witness*letRun[i]
					of.Parts, of.Cycle = parts(rng, tt.powers[i]), of.Cycle*float64(1-i) // two allocates nothing
				}
			}
			c := stats.Paired(stats.NewCosts(rows).Differences(0, 1, nil, nil), 0.005)
			if c.Low > truth || c.High < truth {
				missed += 1. / comparisons
			}
			width += (c.High - c.Low) / 2 / comparisons
			off += (c.Value - truth) / comparisons
		}
		t.Logf("%s: missed %.1f%%, ±%.2f%%, off by %+.2f%%", tt.name, 100*missed, 100*width, 100*off)
		if missed > tt.most || width > tt.width || math.Abs(off) > tt.bias {
			t.Errorf("%s: missed %.1f%%, ±%.2f%%, off by %+.2f%%", tt.name, 100*missed, 100*width, 100*off)
		}
	}
}

// A row that has pieces in one block only, as the others had few rounds, costs what it takes let
// run; its whole batches, which were slowed, move it nowhere, and its garbage is in every block.
func TestFewPieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 6))
	const comparisons, blocks = 100, 6
	one, two := simulated{3000, 800, 0.5, true, 1.03}, simulated{1000, 800, 0.5, true, 1.03}
	off, truth := 0.0, math.Log(one.cost()/two.cost())
	for range comparisons {
		rows := []stats.Costed{one.row(rng, "one", blocks), two.row(rng, "two", blocks)}
		for b := range blocks {
			for i := range rows {
				of := &rows[i].Blocks[b]
				of.Each = []float64{of.Fast}
				if i == 0 && b > 0 {
					of.Fast, of.Each = 0, nil
					for j := range of.CPU {
						of.CPU[j] *= 1.6
					}
				}
				if i == 0 && b > 2 {
					of.Plain = 0
				}
			}
		}
		c := stats.Paired(stats.NewCosts(rows).Differences(0, 1, nil, nil), 0.005)
		off += (c.Value - truth) / comparisons
	}
	if t.Logf("off by %+.2f%%", 100*off); math.Abs(off) > 0.03 {
		t.Errorf("off by %+.2f%%", 100*off)
	}
}

// Where most batches are slowed, blocks of a few rounds have fewer than two in which neither was.
func TestFewSlowedRounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 4))
	const comparisons, blocks, rounds = 200, 6, 5
	missed, widths := 0, []float64(nil)
	for range comparisons {
		rows := []stats.Costed{{Group: "one", Ops: 1}, {Group: "two", Ops: 1}}
		for range blocks {
			for i, code := range []float64{1050, 1000} {
				var b stats.CostedBlock
				for range rounds {
					each := code * math.Exp(0.01*rng.NormFloat64())
					if rng.IntN(3) > 0 {
						each *= 1.5 + 0.3*rng.Float64()
					}
					b.Each, b.CPU = append(b.Each, each), append(b.CPU, 1.1*each)
				}
				b.Fast = slices.Min(b.Each)
				rows[i].Blocks = append(rows[i].Blocks, b)
			}
		}
		c := stats.Paired(stats.NewCosts(rows).Differences(0, 1, nil, nil), 0.05)
		if truth := math.Log(1.05); c.Low > truth || c.High < truth {
			missed++
		}
		widths = append(widths, (c.High-c.Low)/2)
	}
	width := stats.Median(widths)
	if t.Logf("missed %d of %d, ±%.2f%%", missed, comparisons, 100*width); missed > 20 || width > 0.025 {
		t.Errorf("missed %d of %d, ±%.2f%%", missed, comparisons, 100*width)
	}
}

// Groups with few collections take the price of the others; another price takes its place.
func TestPricesAreShrunk(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 2))
	many := simulated{1000, 400, 0.5, true, 0}
	few := simulated{1000, 1, 0.9, true, 0}
	costs := stats.NewCosts([]stats.Costed{many.row(rng, "many", 8), many.row(rng, "more", 8), few.row(rng, "few", 8)})
	for row := range 3 {
		if p := costs.Price(row); math.Abs(p-0.5) > 0.03 {
			t.Errorf("row %d: %.3f ns a byte", row, p)
		}
	}
	free := 0.0
	for _, level := range costs.Levels(0, &free) {
		if math.Abs(math.Exp(level)/1000-1) > 0.03 {
			t.Errorf("without the price of garbage it is %.0f ns", math.Exp(level))
		}
	}
}

// Where others slow rows let run by 5% a block, each by itself, a row borrows from what the rows of
// its case have in common: it is known better than by itself. One that takes a quarter longer, as
// what is a few ns long does, neither is taken to be like the others nor makes them like itself.
func TestRowsInCommon(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 7))
	const comparisons, blocks = 200, 6
	all := []simulated{{20, 0, 0, true, 1.3}, {30000, 4000, 0.6, true, 1.09}, {7000, 3800, 0.6, true, 1.09}, {2000, 3800, 0.6, true, 1.09}, {3000, 2400, 0.6, true, 1.09}, {12000, 6000, 0.6, true, 1.09}, {3200, 3500, 0.6, true, 1.09}}
	off, squares := make([]float64, len(all)), 0.0
	for range comparisons {
		var rows []stats.Costed
		for i, s := range all {
			row := s.row(rng, string(rune('a'+i)), blocks)
			for b := range row.Blocks {
				of := &row.Blocks[b]
				of.Each, of.Plain = []float64{of.Fast, of.Fast}, of.Plain*math.Exp(0.05*rng.NormFloat64())
			}
			rows = append(rows, row)
		}
		costs := stats.NewCosts(rows)
		for i, s := range all {
			apart := stats.Paired(costs.Differences(i, 2, nil, nil), 0.05).Value - math.Log(s.cost()/all[2].cost())
			off[i] += apart / comparisons
			if i > 0 {
				squares += apart * apart / comparisons / float64(len(all)-2)
			}
		}
	}
	if t.Logf("off by %.3f, ±%.2f%%", off, 100*math.Sqrt(squares)); math.Sqrt(squares) > 0.027 || slices.Max(off) > 0.04 || slices.Min(off) < -0.04 {
		t.Errorf("off by %.3f, ±%.2f%%", off, 100*math.Sqrt(squares))
	}
}

// An object costs to collect too: a row of few large ones is not dearer than it is, beside others
// of many small ones.
func TestObjects(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	const comparisons, blocks = 50, 6
	all, objects := []simulated{{7000, 3800, 0.6, true, 1.1}, {2000, 3800, 0.6, true, 1.1}, {3000, 2400, 0.6, true, 1.1}, {12000, 6000, 0.6, true, 1.1}}, []float64{96, 8, 60, 90}
	off := 0.0
	for range comparisons {
		var rows []stats.Costed
		for i, s := range all {
			row := s.row(rng, string(rune('a'+i)), blocks)
			row.Objects = objects[i]
			for b := range row.Blocks {
				row.Blocks[b].Plain = (row.Blocks[b].Plain + 5*s.price*objects[i]) * math.Exp(0.02*rng.NormFloat64())
			}
			rows = append(rows, row)
		}
		cost := func(i int) float64 { return all[i].cost() + 5*all[i].price*objects[i] }
		off += (stats.Paired(stats.NewCosts(rows).Differences(1, 0, nil, nil), 0.05).Value - math.Log(cost(1)/cost(0))) / comparisons
	}
	if t.Logf("off by %.3f", off); math.Abs(off) > 0.012 {
		t.Errorf("off by %.3f", off)
	}
}

// By how much others slow a row let run is hardly known from six blocks: where rows differ in that
// by 0.08, as here, it is as the case's are, and as its parts say.
func TestPowers(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	const comparisons, blocks = 1000, 6
	squares := 0.0
	for range comparisons {
		var rows []stats.Costed
		for i := range 6 {
			s := simulated{1000 * float64(i+2), 1000, 0.6, true, 1.1}
			row, power := s.row(rng, string(rune('a'+i)), blocks), stats.UsualPower+0.08*rng.NormFloat64()
			for b := range row.Blocks {
				slow := 0.6 * rng.Float64()
				row.Blocks[b].Witness = 20 * math.Exp(slow)
				row.Blocks[b].Plain *= math.Exp(power*slow + 0.06*rng.NormFloat64())
				row.Blocks[b].Parts = parts(rng, power)
			}
			rows = append(rows, row)
		}
		apart := stats.Paired(stats.NewCosts(rows).Differences(0, 1, nil, nil), 0.05).Value - math.Log((1100*2+600)/(1100*3+600.))
		squares += apart * apart / comparisons
	}
	if t.Logf("±%.2f%%", 100*math.Sqrt(squares)); math.Sqrt(squares) > 0.017 {
		t.Errorf("±%.2f%%", 100*math.Sqrt(squares))
	}
}

// A processor that was fast for the first block only, as one that gets warm is, is no reason to
// leave out the others.
func TestWarmProcessor(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 8))
	const comparisons, blocks, rounds = 200, 8, 6
	missed, width := 0, 0.0
	for range comparisons {
		rows := []stats.Costed{{Group: "one", Ops: 1}, {Group: "two", Ops: 1}}
		for n := range blocks {
			for i, code := range []float64{1020, 1000} {
				var b stats.CostedBlock
				process := math.Exp(0.005 * rng.NormFloat64())
				for range rounds {
					each := code * process * math.Exp(0.005*rng.NormFloat64())
					if n > 0 {
						each *= 1.15
					}
					b.Each, b.CPU = append(b.Each, each), append(b.CPU, 1.1*each)
				}
				b.Fast = slices.Min(b.Each)
				rows[i].Blocks = append(rows[i].Blocks, b)
			}
		}
		c := stats.Paired(stats.NewCosts(rows).Differences(0, 1, nil, nil), 0.05)
		if truth := math.Log(1.02); c.Low > truth || c.High < truth {
			missed++
		}
		width += (c.High - c.Low) / 2 / comparisons
	}
	if t.Logf("missed %d of %d, ±%.2f%%", missed, comparisons, 100*width); missed > 20 || width > 0.01 {
		t.Errorf("missed %d of %d, ±%.2f%%", missed, comparisons, 100*width)
	}
}

// Where only one block of six has batches that were not slowed, an interval is not narrow because
// the others are taken to be like it.
func TestOneQuietBlock(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	rows := []stats.Costed{{Group: "one", Ops: 1}, {Group: "two", Ops: 1}}
	for n := range 6 {
		for i := range rows {
			b := stats.CostedBlock{Each: []float64{1700, 1710, 1720}}
			if n == 0 || i == 0 {
				b.Each = []float64{1000 + 10*rng.Float64(), 1000 + 10*rng.Float64(), 1700}
			}
			b.Fast, b.CPU = slices.Min(b.Each), b.Each
			rows[i].Blocks = append(rows[i].Blocks, b)
		}
	}
	if c := stats.Paired(stats.NewCosts(rows).Differences(0, 1, nil, nil), 0.05); c.High-c.Low < 0.02 {
		t.Errorf("%+.2f%% to %+.2f%%", 100*c.Low, 100*c.High)
	}
}

// Where other guests slow nearly all batches of one row, so that one block tells, it is known to a
// factor only: the batches are of a run of the same code twice, of which a gate said 1.38 to 1.95.
func TestHardlyQuiet(t *testing.T) {
	rows := []stats.Costed{{Group: "new", Ops: 1}, {Group: "old", Ops: 1}}
	for i, blocks := range [][][]float64{
		{{4366, 2241, 2644, 4491, 4506, 5033}, {4637, 4582, 4081, 2368}, {2930, 3842, 3623, 3825}, {4316, 4504, 4193, 4491}, {4359, 4437, 2945, 4157}, {3774, 4400, 2381, 4322}, {3519, 4541, 2171, 3607}},
		{{2311, 2070, 2083, 4140, 2065, 4112}, {4590, 4185, 4222, 4217}, {4510, 4195, 4008, 3610}, {4522, 4590, 4350, 4305}, {3789, 2080, 2109, 3749}, {3646, 2224, 2189, 4344}, {4491, 2178, 3053, 3574}},
	} {
		for _, each := range blocks {
			rows[i].Blocks = append(rows[i].Blocks, stats.CostedBlock{Each: each, CPU: each, Fast: slices.Min(each)})
		}
	}
	c := stats.Paired(stats.NewCosts(rows).Differences(0, 1, nil, nil), 0.05)
	if c.Low > 0 || c.High < 0 {
		t.Errorf("%.3f to %.3f", math.Exp(c.Low), math.Exp(c.High))
	}
	// Blocks that the row sits out do not move the estimate.
	for i := range rows {
		rows[i].Blocks = slices.Insert(rows[i].Blocks, 1, stats.CostedBlock{})
	}
	values := slices.DeleteFunc(stats.NewCosts(rows).Differences(0, 1, nil, nil), math.IsNaN)
	if of := stats.Paired(values, 0.05); math.Abs(of.Value-c.Value) > 0.01 {
		t.Errorf("%.3f with a block without the row, %.3f without", math.Exp(of.Value), math.Exp(c.Value))
	}
}

// Where a row is slowed in all of its batches, and a control of the same code is not, the row costs
// what its control does.
func TestQuietOfControl(t *testing.T) {
	rows := []stats.Costed{{Group: "base", Ops: 1}, {Group: "base", Ops: 1}, {Group: "row", Ops: 1}}
	for n := range 6 {
		for i, quiet := range []float64{1070, 1000, 500} {
			b := stats.CostedBlock{Each: []float64{quiet * (1 + 0.001*float64(n)), 1.7 * quiet, 1.8 * quiet}}
			b.Fast, b.CPU = quiet, b.Each
			rows[i].Blocks = append(rows[i].Blocks, b)
		}
	}
	c := stats.NewCosts(rows)
	for i, want := range []float64{1, 1, 0.5} {
		if got := math.Exp(stats.Paired(c.Differences(i, 0, nil, nil), 0.05).Value); math.Abs(got/want-1) > 0.01 {
			t.Errorf("row %d: %.3f of the baseline, want %.3f", i, got, want)
		}
	}
}

// Where blocks are noisy, and tell that a row is the faster the more others slow the processor, it
// is still slowed.
func TestPowersOfNoise(t *testing.T) {
	means := []stats.Slope{{Products: -0.06, Squares: 0.02}, {Products: 0.01, Squares: 0.01}}
	for _, parts := range [][]stats.Slope{make([]stats.Slope, 2), {{Products: 15, Squares: 20}, {Products: -300, Squares: 100}}} {
		for i, power := range stats.Powers(means, parts) {
			if !(power > 0 && power < 2) {
				t.Errorf("parts %v: row %d is slowed by the power of %.3g", parts, i, power)
			}
		}
	}
}
