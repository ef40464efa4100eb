package history

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"postage/internal/verdict"
)

// pointsOf are points whose ratio is around those given, so many of each.
func pointsOf(rng *rand.Rand, parts ...[2]float64) []Point {
	var points []Point
	for _, p := range parts {
		for range int(p[0]) {
			v := p[1] * math.Exp(0.01*rng.NormFloat64())
			points = append(points, Point{Run: fmt.Sprint(len(points) + 1), Started: time.Unix(int64(len(points)), 0), Anchor: Anchor{"codec=base", "v1"}, Ratio: &verdict.Interval{Value: v, Low: v / 1.02, High: v * 1.02}})
		}
	}
	return points
}

// A change of anchor is no change of the row: it begins a segment, and in each segment
// changes are looked for alone.
func TestSegments(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	points := pointsOf(rng, [2]float64{20, 0.3}, [2]float64{12, 0.6}, [2]float64{12, 0.9})
	for i := 20; i < len(points); i++ {
		points[i].Anchor.Version = "v2"
	}
	tr := NewTrend("row", "machine", points)
	if len(tr.Segments) != 2 || tr.Segments[1] != (Segment{20, 44, Anchor{"codec=base", "v2"}}) {
		t.Errorf("segments %+v", tr.Segments)
	}
	if len(tr.Changes) != 1 || tr.Changes[0].Point != 32 || math.Abs(tr.Changes[0].Before-0.6) > 0.02 || math.Abs(tr.Changes[0].Factor()-1.5) > 0.03 {
		t.Errorf("changes %+v", tr.Changes)
	}
}

// Points without a ratio are passed over, and do not shift what comes after them.
func TestGaps(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	points := pointsOf(rng, [2]float64{20, 0.3}, [2]float64{20, 0.6})
	for _, i := range []int{0, 3, 4, 22} {
		points[i].Ratio = nil
	}
	points[30].Ratio.Value = math.NaN()
	tr := NewTrend("row", "machine", points)
	if len(tr.Changes) != 1 || tr.Changes[0].Point != 20 {
		t.Errorf("changes %+v", tr.Changes)
	}
	for _, i := range []int{0, 3, 4, 22} { // in those runs the anchor has no figures
		points[i].Anchor = Anchor{}
	}
	if same := NewTrend("row", "machine", points); !reflect.DeepEqual(same, tr) {
		t.Errorf("with no anchor in some runs: segments %+v, changes %+v", same.Segments, same.Changes)
	}
	if tr.IsAnchor() {
		t.Error("it has ratios")
	}
	if none := NewTrend("row", "machine", nil); len(none.Changes) != 0 || len(none.Segments) != 0 || !none.IsAnchor() {
		t.Errorf("%+v", none)
	}
}

func TestLast(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	points := pointsOf(rng, [2]float64{20, 0.3}, [2]float64{20, 0.6}, [2]float64{20, 0.3})
	for i := 50; i < 60; i++ {
		points[i].Anchor.Version = "v2"
	}
	whole := NewTrend("row", "machine", points)
	if whole.Last(60) != whole || whole.Last(100) != whole {
		t.Error("more than there are is not all")
	}
	last := whole.Last(30)
	if len(last.Points) != 30 || last.Points[0].Run != "31" || len(last.Changes) != 1 || last.Changes[0].Point != 10 ||
		len(last.Segments) != 2 || last.Segments[0] != (Segment{0, 20, Anchor{"codec=base", "v1"}}) || last.Segments[1] != (Segment{20, 30, Anchor{"codec=base", "v2"}}) {
		t.Errorf("%+v %+v", last.Changes, last.Segments)
	}
	if len(whole.Changes) != 2 || whole.Changes[1].Point != 40 {
		t.Errorf("the whole was changed: %+v", whole.Changes)
	}
	if recent := whole.Last(5); len(recent.Segments) != 1 || len(recent.Changes) != 0 {
		t.Errorf("%+v", recent)
	}
}
