package stats

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"
)

// collecting is a contender that allocates: a collection, with a cost of its own, each
// time that it has used up its heap, beginning at a random point of the cycle.
type collecting struct {
	rng     *rand.Rand
	every   float64 // batches from one collection to the next
	cost    float64 // of a collection, in batches
	sd      float64 // of the logarithm of a batch
	process float64 // the same of a process
	burst   float64 // share of batches that something else makes slower
	share   float64 // of the batches, which the level is taken from
}

// truth is what a batch takes in the long run.
func (c *collecting) truth() float64 { return 1 + c.cost/c.every }

func (c *collecting) block(rounds int) Batches {
	var b Batches
	phase := c.rng.Float64() * c.every
	process := c.process * c.rng.NormFloat64()
	for range rounds {
		phase++
		collections := 0.0
		for phase >= c.every {
			phase -= c.every
			collections++
		}
		t := 1 + collections*c.cost*(1+0.03*c.rng.NormFloat64())
		t *= math.Exp(process + c.sd*c.rng.NormFloat64())
		if c.rng.Float64() < c.burst {
			t += c.rng.ExpFloat64()
		}
		b.Time, b.Collections = append(b.Time, t), append(b.Collections, collections)
	}
	return b
}

func (c *collecting) levels(blocks int) Levels {
	var all []Batches
	for range blocks {
		all = append(all, c.block(12))
	}
	return CollectedLevels(all, 1/c.every, c.share)
}

// A contender pays for its garbage: against one that makes none, the ratio is that of means over a
// long time, to half a percent, from a collection in ten batches to two a batch. The median over a
// block, and the fastest quarter alone, are off by several percent.
func TestLevelsPayForCollections(t *testing.T) {
	for i, every := range []float64{10, 10, 6.3, 6.3, 3.7, 3.7, 2.2, 2.2, 1.3, 1.3, 0.9, 0.9, 0.5, 0.5} {
		share := []float64{0.25, 0.5}[i%2]
		c := &collecting{rng: rand.New(rand.NewPCG(1, 1)), every: every, cost: 0.3, sd: 0.02, share: share}
		clean := &collecting{rng: c.rng, every: math.Inf(1), sd: 0.02, share: share}
		var values []float64
		a, b := c.levels(200), clean.levels(200)
		for i := range a.Fast {
			values = append(values, a.Fast[i]-b.Fast[i])
		}
		bias := HodgesLehmann(values) - math.Log(c.truth())
		t.Logf("a collection every %.1f batches, fastest %g: off by %+.2f%%", every, share, 100*bias)
		if math.Abs(bias) > 0.005 {
			t.Errorf("a collection every %.1f batches: off by %+.2f%% of what it costs in the long run, want at most 0.5%%", every, 100*bias)
		}
	}
}

// The interval of two equal contenders holds 1 as often as it says, whatever they
// allocate, with bursts of other work, and with the conductor's looks.
func TestCoverageOfLevels(t *testing.T) {
	comparisons := 150
	if os.Getenv("POSTAGE_LONG") == "hours" {
		comparisons = 4000
	}
	for _, tt := range []struct {
		name         string
		every, burst float64
		precision    float64
		share        float64
	}{
		{"no collections", math.Inf(1), 0, 0.005, 0.5},
		{"collections", 3.7, 0, 0.005, 0.5},
		{"rare collections", 15, 0, 0.005, 0.5},
		{"collections, bursts", 3.7, 0.3, 0.005, 0.5},
		{"collections, stopped early", 3.7, 0.3, 0.02, 0.5},
		{"collections, bursts, a quarter", 3.7, 0.3, 0.005, 0.25},
		{"rare collections, a quarter", 15, 0, 0.005, 0.25},
	} {
		c := &collecting{rng: rand.New(rand.NewPCG(2, 1)), every: tt.every, cost: 0.3, sd: 0.025, process: 0.006, burst: tt.burst, share: tt.share}
		missed, alarms, found, sum := 0, 0, 0, 0.0
		for range comparisons {
			comparison := c.compare(tt.precision, 20)
			if comparison.Low > 1 || comparison.High < 1 {
				missed++
			}
			if v := Decide(comparison, 0.01); v == Faster || v == Slower {
				alarms++
			}
			if comparison.Low*1.02 > 1.01 {
				found++
			}
			sum += comparison.HalfWidth
		}
		share := func(k int) float64 { return 100 * float64(k) / float64(comparisons) }
		t.Logf("%s: interval misses 1 in %.1f%%, false alarms %.2f%%, ±%.2f%%, 2%% found in %.1f%%", tt.name,
			share(missed), share(alarms), 100*sum/float64(comparisons), share(found))
		if missed > comparisons*5/100 && !within(missed, comparisons, 0.05) {
			t.Errorf("%s: the interval misses 1 in %d of %d", tt.name, missed, comparisons)
		}
		if missed == 0 {
			t.Errorf("%s: the interval never misses: it is wider than it says", tt.name)
		}
		if alarms > 2+comparisons/200 {
			t.Errorf("%s: %d false alarms of %d", tt.name, alarms, comparisons)
		}
	}
}

// compare measures two equal contenders until the half-width is within the precision or
// there are as many blocks as the budget has.
func (c *collecting) compare(precision float64, most int) Comparison {
	var a, b []Batches
	for _, look := range looks {
		for len(a) < min(look, most) {
			a, b = append(a, c.block(12)), append(b, c.block(12))
		}
		x, y := CollectedLevels(a, 1/c.every, c.share), CollectedLevels(b, 1/c.every, c.share)
		var values []float64
		for i := range a {
			values = append(values, x.Fast[i]-y.Fast[i])
		}
		comparison := Compare(values)
		if comparison.HalfWidth <= precision || look >= most {
			return comparison
		}
	}
	panic("no look")
}

// A cost in every eighth batch is not in the fast ones, but in the mean.
func TestMeanHoldsWhatFastBatchesHide(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	var blocks []Batches
	batch := 0
	for range 20 {
		var b Batches
		for range 12 {
			batch++
			time := 0.95 * math.Exp(0.02*rng.NormFloat64())
			if batch%8 == 0 {
				time += 0.6
			}
			b.Time = append(b.Time, time)
		}
		blocks = append(blocks, b)
	}
	l := CollectedLevels(blocks, 0, 0.25)
	if fast := math.Exp(HodgesLehmann(l.Fast)); fast > 0.95 {
		t.Errorf("the fast batches take %.3f, want below 0.95", fast)
	}
	if mean := math.Exp(Median(l.Mean)); mean < 1 {
		t.Errorf("the mean is %.3f, want above 1: 0.95 + 0.6/8", mean)
	}
}
