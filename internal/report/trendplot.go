package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"postage/internal/history/trend"
)

// The places of a trend's plot, in the units of its SVG.
const (
	trendWidth  = 900
	trendHeight = 230
	trendLeft   = 64
	trendRight  = 890
	trendTop    = 22
	trendBottom = 190
)

// What a page may hold of a history, so that it stays small: points in all, of one
// trend, and trends.
const (
	trendPointsInAll = 1000
	trendPoints      = 200
	trendPointsLeast = 20
	trendsShown      = trendPointsInAll / trendPointsLeast
)

// trendsView is the page's section of trends.
type trendsView struct {
	Trends []trendView
	// LeftOut is how many rows have a trend that is not shown.
	LeftOut int
}

type trendView struct {
	ID, Name, Note             string
	Width, Height, Left, Right int
	Top, Bottom                int
	Ticks                      []tick
	Band                       string // path of the intervals
	Line                       string // path through the estimates
	Dots                       string // path of a dot each
	Changes                    []trendMark
	Anchors                    []trendMark
	First                      string // labels of the first and the last run
	Last                       string
	Rows                       []trendRow
}

// trendMark is a line across a trend's plot.
type trendMark struct {
	At           float64
	Class, Label string
	Anchor       string // where the label's text is held
	Cells        []string
}

type trendRow struct {
	Number                      int
	Started, Commit, Ratio, Run string
}

// newTrends is the section, nil if no trend has two ratios among its latest points. Trends
// that changed last come first.
func newTrends(trends []*trend.Trend) *trendsView {
	var all []*trend.Trend
	for _, t := range trends {
		if ratios(t.Last(trendPointsLeast)) > 1 {
			all = append(all, t)
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b *trend.Trend) int { return cmp.Compare(sinceChange(a), sinceChange(b)) })
	v := &trendsView{LeftOut: max(0, len(all)-trendsShown)}
	all = all[:len(all)-v.LeftOut]
	each := min(trendPoints, max(trendPointsLeast, trendPointsInAll/len(all)))
	ids := map[string]int{}
	for _, t := range all {
		id := "trend-" + slug(t.Row)
		if ids[id]++; ids[id] > 1 {
			id = fmt.Sprintf("%s-%d", id, ids[id])
		}
		v.Trends = append(v.Trends, newTrend(t, each, id))
	}
	return v
}

func ratios(t *trend.Trend) int {
	n := 0
	for i := range t.Points {
		if t.Points[i].Ratio != nil {
			n++
		}
	}
	return n
}

// sinceChange is how many runs there were since a trend's last change, very many if it has none.
func sinceChange(t *trend.Trend) int {
	if len(t.Changes) == 0 {
		return math.MaxInt
	}
	return len(t.Points) - t.Changes[len(t.Changes)-1].Point
}

func newTrend(whole *trend.Trend, points int, id string) trendView {
	t := whole.Last(points)
	v := trendView{ID: id, Name: t.Row, Note: trendSummary(whole), Width: trendWidth, Height: trendHeight, Left: trendLeft, Right: trendRight, Top: trendTop, Bottom: trendBottom,
		First: dateText(&t.Points[0]), Last: dateText(&t.Points[len(t.Points)-1])}
	if n := len(whole.Points) - len(t.Points); n > 0 {
		v.Note += fmt.Sprintf("; shown are the last %d runs", len(t.Points))
	}
	low, high := bounds(t)
	y := func(r float64) float64 {
		share := (r - low) / (high - low)
		return tenth(trendBottom - min(1, max(0, share))*(trendBottom-trendTop))
	}
	x := func(i float64) float64 {
		return tenth(trendLeft + 8 + i/float64(max(1, len(t.Points)-1))*(trendRight-trendLeft-16))
	}
	for _, at := range niceTicks(low, high) {
		v.Ticks = append(v.Ticks, tick{y(at), tickText(at)})
	}
	v.paths(t, x, y)
	offset := len(whole.Points) - len(t.Points)
	for _, s := range t.Segments {
		if s.From > 0 {
			v.Anchors = append(v.Anchors, trendMark{At: x(float64(s.From) - 0.5), Label: "anchor is now " + s.Anchor.String(), Cells: []string{"From the run started " + startedText(&t.Points[s.From]) + " on, the anchor is now " + s.Anchor.String()}})
		}
	}
	for i := range t.Changes {
		v.Changes = append(v.Changes, newMark(t, &t.Changes[i], x, offset))
	}
	for i := range t.Points {
		p := &t.Points[i]
		v.Rows = append(v.Rows, trendRow{offset + i + 1, startedText(p), commitText(p.Commit), pointRatio(p), p.Run})
	}
	return v
}

// paths draws the band of intervals, which is broken where there is none, the line and the
// dots. Across a change of anchor there is no line.
func (v *trendView) paths(t *trend.Trend, x, y func(float64) float64) {
	var band, line, dots strings.Builder
	for _, s := range t.Segments {
		var forth, back []string
		flush := func() {
			if len(forth) > 1 {
				slices.Reverse(back)
				band.WriteString("M" + strings.Join(append(forth, back...), "L") + "Z")
			}
			forth, back = nil, nil
		}
		pen := "M"
		for i := s.From; i < s.To; i++ {
			r := t.Points[i].Ratio
			if r == nil {
				continue
			}
			at := x(float64(i))
			fmt.Fprintf(&line, "%s%g %g", pen, at, y(r.Value))
			fmt.Fprintf(&dots, "M%g %gh0", at, y(r.Value))
			pen = "L"
			if !r.Bounded() {
				flush()
				continue
			}
			forth = append(forth, fmt.Sprintf("%g %g", at, y(r.High)))
			back = append(back, fmt.Sprintf("%g %g", at, y(r.Low)))
		}
		flush()
	}
	v.Band, v.Line, v.Dots = band.String(), line.String(), dots.String()
}

func newMark(t *trend.Trend, c *trend.Change, x func(float64) float64, offset int) trendMark {
	p := &t.Points[c.Point]
	m := trendMark{At: x(float64(c.Point) - 0.5), Class: "slower", Label: factorText(c), Anchor: "middle",
		Cells: []string{fmt.Sprint(offset + c.Point + 1), startedText(p), commitText(p.Commit), ratio(c.Before), ratio(c.After), factorText(c), probability(c.P), alongWith(t, c.Point)}}
	if c.Factor() < 1 {
		m.Class = "faster"
	}
	// A label near an end is held by that end, so that it stays in the picture.
	switch {
	case m.At < trendLeft+60:
		m.Anchor = "start"
	case m.At > trendRight-60:
		m.Anchor = "end"
	}
	return m
}

func dateText(p *trend.Point) string {
	if p.Started.IsZero() {
		return commitText(p.Commit)
	}
	return p.Started.UTC().Format("2006-01-02")
}

// bounds are the ends of a trend's axis: all estimates lie within, and intervals unless they are
// much wider.
func bounds(t *trend.Trend) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for i := range t.Points {
		if r := t.Points[i].Ratio; r != nil {
			low, high = min(low, r.Value), max(high, r.Value)
		}
	}
	room := max(high-low, 0.02*high)
	lowest, highest := low-room, high+room
	for i := range t.Points {
		if r := t.Points[i].Ratio; r != nil && r.Bounded() {
			low, high = min(low, max(r.Low, lowest)), max(high, min(r.High, highest))
		}
	}
	room = 0.06 * max(high-low, 0.02*high)
	return max(0, low-room), high + room
}

// niceTicks are a few round values between two.
func niceTicks(low, high float64) []float64 {
	step := math.Pow(10, math.Floor(math.Log10(high-low)))
	for _, finer := range []float64{5, 4, 2} {
		if (high-low)/(step/finer) <= 6 {
			step /= finer
			break
		}
	}
	var ticks []float64
	for i := math.Ceil(low / step); i*step <= high; i++ {
		ticks = append(ticks, math.Round(i*step*1e9)/1e9)
	}
	return ticks
}

func tenth(v float64) float64 { return math.Round(10*v) / 10 }
