package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"postage/internal/verdict"
	"postage/record"
)

// axis maps values to places on a logarithmic axis, in the units of an SVG.
type axis struct {
	low, high float64 // values at its ends
	from, to  float64 // places of its ends
}

// newAxis spans the positive, finite ones of the values, with a little room.
func newAxis(values []float64, from, to float64) axis {
	a := axis{math.Inf(1), 0, from, to}
	for _, v := range values {
		if v > 0 && !math.IsInf(v, 0) && !math.IsNaN(v) {
			a.low, a.high = min(a.low, v), max(a.high, v)
		}
	}
	if a.high == 0 {
		a.low, a.high = 1, 1
	}
	room := math.Pow(a.high/a.low, 0.04) * 1.02
	a.low, a.high = a.low/room, a.high*room
	return a
}

func (a axis) at(v float64) float64 {
	share := math.Log(v/a.low) / math.Log(a.high/a.low)
	return math.Round(10*(a.from+min(1, max(0, share))*(a.to-a.from))) / 10
}

// tick is a labelled place on an axis.
type tick struct {
	At   float64
	Text string
}

// ticks are at most about eight round values.
func (a axis) ticks(text func(float64) string) []tick {
	var all []tick
	for _, steps := range [][]float64{{1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2, 2.5, 3, 4, 5, 6, 7, 8, 9}, {1, 1.5, 2, 3, 5, 7}, {1, 2, 5}, {1, 3}, {1}} {
		all = nil
		for e := math.Floor(math.Log10(a.low)); e <= math.Ceil(math.Log10(a.high)); e++ {
			for _, step := range steps {
				if v := step * math.Pow(10, e); v >= a.low && v <= a.high {
					all = append(all, tick{a.at(v), text(v)})
				}
			}
		}
		if len(all) <= 8 {
			break
		}
	}
	return all
}

func tickText(v float64) string { return strings.TrimSuffix(fmt.Sprintf("%.4g", v), ".0") }

// The places of a forest plot, in the units of its SVG.
const (
	plotWidth  = 900
	labelWidth = 240
	plotFrom   = 256
	plotTo     = 690
	rowHeight  = 30
	// baseline is where a row's text stands, and what its places are counted from.
	baseline = 17
	// labelLength is how many characters of a name there is room for.
	labelLength = 36
	axisHeight  = 40
)

// forest shows each row's ratio with its interval, and below it the values of its blocks.
type forest struct {
	Width, Height    int
	From, To, Bottom float64
	One              float64 // where the baseline is
	Floor            float64 // where the fastest floor is; 0 for none
	Ticks            []tick
	Rows             []forestRow
	Describe         string
}

type forestRow struct {
	Label, Class, Text, Hint string
	Top, At, Low, High       float64
	Interval                 bool
	Strip                    string // path of one dot a block
}

func newForest(rec *record.Record, c *verdict.CaseResult, results []*verdict.Result, common map[string]string) *forest {
	if c.Baseline == nil || c.Baseline.NSOp == nil {
		return nil
	}
	place := func(r *verdict.Result) float64 {
		if r.Ratio == nil {
			return 1
		}
		return r.Ratio.Ratio
	}
	results = slices.Clone(results)
	slices.SortStableFunc(results, func(a, b *verdict.Result) int { return cmp.Compare(place(a), place(b)) })
	blocks := map[*verdict.Result][]float64{}
	values := []float64{1}
	for _, r := range results {
		for _, v := range c.BlockValues(r) {
			blocks[r] = append(blocks[r], math.Exp(v))
		}
		values = append(values, blocks[r]...)
		if r.Ratio != nil {
			values = append(values, r.Ratio.Low, r.Ratio.High)
		}
	}
	x := newAxis(values, plotFrom, plotTo)
	f := &forest{Width: plotWidth, Height: len(results)*rowHeight + axisHeight - 16, From: plotFrom, To: plotTo, One: x.at(1),
		Bottom: float64(len(results) * rowHeight), Ticks: x.ticks(tickText),
		Describe: "Multiples of the baseline's; the table below has the figures."}
	for i, r := range results {
		row := forestRow{Label: clipped(r.Row.Contender, labelLength), Class: verdictClass(r), Hint: hint(r, common), Top: float64(i*rowHeight) + baseline, At: f.One, Text: "baseline"}
		if r.Ratio != nil {
			row.At, row.Text = x.at(r.Ratio.Ratio), RatioText(r.Ratio)
			if math.IsInf(r.Ratio.HalfWidth, 0) {
				row.Text = ratio(r.Ratio.Ratio) + " (no interval)"
			} else {
				row.Interval, row.Low, row.High = true, x.at(r.Ratio.Low), x.at(r.Ratio.High)
			}
			row.Strip = strip(blocks[r], x)
		}
		if r.Row.Role == record.RoleFloor && (f.Floor == 0 || row.At < f.Floor) {
			f.Floor = row.At
		}
		f.Rows = append(f.Rows, row)
	}
	return f
}

// strip is a path of one dot per value, below a row's mark. Dots are at least three units apart;
// values at the same place share one.
func strip(values []float64, x axis) string {
	var path strings.Builder
	last := math.Inf(-1)
	for _, v := range slices.Sorted(slices.Values(values)) {
		switch at := 3 * math.Round(x.at(v)/3); {
		case path.Len() == 0:
			fmt.Fprintf(&path, "M%.0f 5h0", at)
			last = at
		case at > last:
			fmt.Fprintf(&path, "m%.0f 0h0", at-last)
			last = at
		}
	}
	return path.String()
}

// clipped shortens a name that is too long for its place; the table has it in full.
func clipped(s string, most int) string {
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s
}

// hintName is a name that has no room, for a hint, "" for one that has.
func hintName(name string) string {
	if clipped(name, labelLength) == name {
		return ""
	}
	return name
}

// scatter shows the size of messages against speed.
type scatter struct {
	Width, Height            int
	Left, Right, Top, Bottom float64
	X, Y                     []tick
	Points                   []point
}

type point struct {
	Label, Class, Hint, Anchor string
	X, Y, LabelX, LabelY       float64
}

// sizeOf is what a message takes on the wire.
func sizeOf(r *verdict.Result) (size float64, ok bool) {
	if size, ok = r.Metrics[record.PackedBytes]; !ok {
		size, ok = r.Metrics[record.EncodedBytes]
	}
	return size, ok
}

func newScatter(results []*verdict.Result) *scatter {
	s := &scatter{Width: plotWidth, Height: 380, Left: 64, Right: 870, Top: 12, Bottom: 330}
	var sized []*verdict.Result
	var sizes, speeds []float64
	for _, r := range results {
		size, ok := sizeOf(r)
		if !ok || size <= 0 || r.Row.Role == record.RoleFloor {
			continue
		}
		sized = append(sized, r)
		sizes, speeds = append(sizes, size), append(speeds, r.NSOp.Value)
	}
	// If all sizes are the same, the plot says nothing.
	if len(sized) < 3 || slices.Min(sizes) == slices.Max(sizes) {
		return nil
	}
	x, y := newAxis(speeds, s.Left, s.Right), newAxis(sizes, s.Bottom, s.Top)
	s.X = x.ticks(duration)
	s.Y = y.ticks(tickText)
	slices.SortStableFunc(sized, func(a, b *verdict.Result) int { return cmp.Compare(a.NSOp.Value, b.NSOp.Value) })
	for _, r := range sized {
		size, _ := sizeOf(r)
		p := point{Class: verdictClass(r), X: x.at(r.NSOp.Value), Y: y.at(size),
			Hint: r.Row.Contender}
		s.Points = append(s.Points, p)
	}
	s.label(sized)
	return s
}

// box is the room that something takes.
type box struct{ x0, y0, x1, y1 float64 }

// label names the points. A label goes where it covers nothing, or is left out: the hint and the
// table have it.
func (s *scatter) label(sized []*verdict.Result) {
	var taken []box
	for _, p := range s.Points {
		taken = append(taken, box{p.X - 5, p.Y - 5, p.X + 5, p.Y + 5})
	}
	for i := range s.Points {
		p := &s.Points[i]
		label := record.Short(sized[i].Row.Contender)
		width := 6.6 * float64(len([]rune(label)))
		for _, place := range []struct {
			dx, dy float64
			anchor string
		}{{9, 4, "start"}, {-9, 4, "end"}, {0, -9, "middle"}, {0, 18, "middle"}, {9, -8, "start"}, {9, 16, "start"}, {-9, -8, "end"}, {-9, 16, "end"}} {
			left := p.X + place.dx
			switch place.anchor {
			case "end":
				left -= width
			case "middle":
				left -= width / 2
			}
			b := box{left, p.Y + place.dy - 10, left + width, p.Y + place.dy + 3}
			free := b.x0 > s.Left && b.x1 < plotWidth && b.y0 > 0 && b.y1 < s.Bottom
			for j, other := range taken {
				if j != i && b.x0 < other.x1 && other.x0 < b.x1 && b.y0 < other.y1 && other.y0 < b.y1 {
					free = false
					break
				}
			}
			if free {
				p.Label, p.Anchor, p.LabelX, p.LabelY = label, place.anchor, left, p.Y+place.dy
				switch place.anchor {
				case "end":
					p.LabelX += width
				case "middle":
					p.LabelX += width / 2
				}
				p.LabelX, p.LabelY = math.Round(p.LabelX), math.Round(p.LabelY)
				taken = append(taken, b)
				break
			}
		}
	}
}

// latency shows the percentiles of each row that keeps them.
type latency struct {
	Width, Height    int
	From, To, Bottom float64
	Ticks            []tick
	Rows             []latencyRow
}

type latencyRow struct {
	Label, Hint    string
	Top, Low, High float64
	Points         []tick
}

func newLatency(results []*verdict.Result) *latency {
	units := []string{"p50-ns", "p90-ns", "p99-ns", "p99.9-ns", "max-ns"}
	var values []float64
	var kept []*verdict.Result
	for _, r := range results {
		if _, ok := r.Metrics["p50-ns"]; ok {
			kept = append(kept, r)
			for _, unit := range units {
				values = append(values, r.Metrics[unit])
			}
		}
	}
	if len(kept) == 0 {
		return nil
	}
	x := newAxis(values, plotFrom, plotWidth-20)
	l := &latency{Width: plotWidth, Height: len(kept)*rowHeight + axisHeight, From: plotFrom, To: plotWidth - 20, Bottom: float64(len(kept) * rowHeight), Ticks: x.ticks(duration)}
	for i, r := range kept {
		row := latencyRow{Hint: hintName(r.Row.Contender), Label: clipped(r.Row.Contender, labelLength), Top: float64(i*rowHeight) + baseline}
		for _, unit := range units {
			v := r.Metrics[unit]
			name := strings.TrimSuffix(unit, "-ns")
			row.Points = append(row.Points, tick{x.at(v), strings.TrimPrefix(name, "p")})
		}
		row.Low, row.High = row.Points[0].At, row.Points[len(units)-1].At
		l.Rows = append(l.Rows, row)
	}
	return l
}
