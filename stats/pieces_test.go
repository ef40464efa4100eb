package stats

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"
)

// piecing is a contender whose clean pieces vary little and whose collections are disturbed.
type piecing struct {
	collecting
	hot float64 // standard deviation of the logarithm of a block's clean pieces
}

func (c *piecing) row(blocks int) (p Pieced, of Collecting) {
	p.Bytes, of.Cycle = 1/c.every, 1
	if math.IsInf(c.every, 1) {
		p.Bytes, of.Cycle = 0, 0
	}
	for range blocks {
		b := c.block(24)
		for j, n := range b.Collections {
			b.Time[j] += n * c.cost * (0.03*c.rng.NormFloat64() + 0.25*c.disturbed())
		}
		of.Blocks = append(of.Blocks, b)
		p.Clean = append(p.Clean, math.Exp(c.hot*c.rng.NormFloat64()))
	}
	return p, of
}

// disturbed is by how much a collection is, which two in three are not.
func (c *piecing) disturbed() float64 {
	if c.rng.Float64() < 0.67 {
		return 0
	}
	return c.rng.ExpFloat64()
}

func (c *piecing) compare(other *piecing, blocks int) Comparison {
	a, ofA := c.row(blocks)
	b, ofB := other.row(blocks)
	both := PiecedLevels([]Collecting{ofA, ofB}, a, b)
	var values []float64
	for i := range both[0] {
		values = append(values, both[0][i]-both[1][i])
	}
	return Compare(values)
}

// What collections cost is in the ratio to one that makes no garbage, and the interval has its
// error; between rows that allocate as much, that error cancels.
func TestPiecedLevels(t *testing.T) {
	comparisons := 300
	if os.Getenv("POSTAGE_LONG") == "hours" {
		comparisons = 4000
	}
	for _, tt := range []struct {
		name         string
		every        float64
		against      float64 // batches to a collection, of the other
		wantNarrower float64 // half-width at most
	}{
		{"alike", 6, 6, 0.012},
		{"alike, nothing allocated", math.Inf(1), math.Inf(1), 0.012},
		{"against one without garbage", 6, math.Inf(1), 0.05},
		{"two collections a batch against one in ten", 0.5, 10, 0.2},
	} {
		rng := rand.New(rand.NewPCG(9, 1))
		a := &piecing{collecting{rng: rng, every: tt.every, cost: 0.6, sd: 0.03}, 0.006}
		b := &piecing{collecting{rng: rng, every: tt.against, cost: 0.6, sd: 0.03}, 0.006}
		truth := 1.0
		if tt.every != tt.against {
			truth = (1 + a.cost/a.every) / (1 + b.cost/b.every)
		}
		missed, widths, off := 0, 0.0, 0.0
		for range comparisons {
			c := a.compare(b, 8)
			if c.Low > truth || c.High < truth {
				missed++
			}
			widths += c.HalfWidth / float64(comparisons)
			off += math.Log(c.Ratio/truth) / float64(comparisons)
		}
		t.Logf("%s: interval misses %.2f in %.1f%%, ±%.2f%%, off by %+.2f%%", tt.name, truth, 100*float64(missed)/float64(comparisons), 100*widths, 100*off)
		if missed > comparisons*5/100 && !within(missed, comparisons, 0.05) {
			t.Errorf("%s: the interval misses in %d of %d", tt.name, missed, comparisons)
		}
		if widths > tt.wantNarrower || math.Abs(off) > 0.005 {
			t.Errorf("%s: ±%.2f%%, off by %.2f%%", tt.name, 100*widths, 100*off)
		}
	}
}
