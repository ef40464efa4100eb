package history

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"slices"

	"postage/internal/kit/report"
)

// The edges of a trend's plot, in the units of its SVG. page/section.gohtml has the same numbers.
const (
	trendLeft   = 64
	trendRight  = 890
	trendTop    = 22
	trendBottom = 190
)

// How many points a page shows in all and for one trend, and how many trends, so that it stays
// small.
const (
	trendPointsInAll = 1000
	trendPoints      = 200
	trendPointsLeast = 20
	trendsShown      = trendPointsInAll / trendPointsLeast
)

// trendsView is the page's section of trends.
type trendsView struct {
	Trends []*trendView
	// LeftOut is how many rows have a trend that is not shown.
	LeftOut int
}

// trendView is the last points of a trend.
type trendView struct {
	*Trend
	ID, Note         string
	Before           int // how many earlier points are not shown
	Ticks            []report.Tick
	Bars, Line, Dots string // paths: the intervals, a line through the estimates, a dot for each
	Changes, Anchors []trendMark
}

// trendMark is a line across a trend's plot that marks a change or a new anchor.
type trendMark struct {
	At   float64
	Held string // SVG's text-anchor of the label
	*Change
	Segment
}

// Shown is the i-th of the points that are shown.
func (v *trendView) Shown(i int) *Point { return &v.Points[i] }

var (
	//go:embed page/section.gohtml
	trendText string
	//go:embed page/section.css
	trendCSS string
)

// Section makes the part of a page that shows how rows changed; none if there is nothing to show.
func Section(trends []*Trend) ([]report.Section, error) {
	view := newTrends(trends)
	if view == nil {
		return nil, nil
	}
	body, err := report.Fragment(trendText, template.FuncMap{
		"started": startedText, "date": dateText, "commit": commitText, "interval": pointRatio, "change": factorText,
		"probability": report.Probability, "alongWith": alongWith,
	}, view)
	return []report.Section{{ID: "history", Name: "History", Style: template.CSS(trendCSS), Body: body}}, err
}

// newTrends makes the section, nil if no trend has two ratios among its latest points. The trends
// that changed last come first.
func newTrends(trends []*Trend) *trendsView {
	all := slices.DeleteFunc(slices.Clone(trends), func(t *Trend) bool { return len(ratiosOf(t.Last(trendPointsLeast))) < 2 })
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b *Trend) int { return cmp.Compare(sinceChange(a), sinceChange(b)) })
	v := &trendsView{LeftOut: max(0, len(all)-trendsShown)}
	all = all[:len(all)-v.LeftOut]
	each := min(trendPoints, max(trendPointsLeast, trendPointsInAll/len(all)))
	ids := report.IDs{}
	for _, t := range all {
		v.Trends = append(v.Trends, newTrend(t, each, ids.New("trend-"+t.Row)))
	}
	return v
}

// sinceChange counts the runs since a trend's last change; it is very large if there is none.
func sinceChange(t *Trend) int {
	if len(t.Changes) == 0 {
		return math.MaxInt
	}
	return len(t.Points) - t.Changes[len(t.Changes)-1].Point
}

func newTrend(whole *Trend, points int, id string) *trendView {
	t := whole.Last(points)
	v := &trendView{Trend: t, ID: id, Note: trendSummary(whole), Before: len(whole.Points) - len(t.Points)}
	if v.Before > 0 {
		v.Note += fmt.Sprintf("; shown are the last %d runs", len(t.Points))
	}
	low, high := bounds(t)
	x, y := report.NewLinear(0, float64(max(1, len(t.Points)-1)), trendLeft+8, trendRight-8), report.NewLinear(low, high, trendBottom, trendTop)
	v.Ticks = y.Ticks(report.TickText)
	v.paths(x, y)
	for _, s := range t.Segments {
		if s.From > 0 {
			v.Anchors = append(v.Anchors, trendMark{At: x.At(float64(s.From) - 0.5), Segment: s})
		}
	}
	for i := range t.Changes {
		m := trendMark{At: x.At(float64(t.Changes[i].Point) - 0.5), Held: "middle", Change: &t.Changes[i]}
		// A label near an end is held by that end, so that it stays in the picture.
		switch {
		case m.At < trendLeft+60:
			m.Held = "start"
		case m.At > trendRight-60:
			m.Held = "end"
		}
		v.Changes = append(v.Changes, m)
	}
	return v
}

// paths draws a line through each segment's estimates, and for each point a dot and its interval.
func (v *trendView) paths(x, y report.Linear) {
	for _, s := range v.Segments {
		v.Line += report.Path(s.To-s.From, func(i int) (float64, float64) {
			r := v.Points[s.From+i].Ratio
			if r == nil {
				return 0, math.NaN()
			}
			return x.At(float64(s.From + i)), y.At(r.Value)
		})
	}
	for i, p := range v.Points {
		if p.Ratio == nil {
			continue
		}
		v.Dots += fmt.Sprintf("M%g %gh0", x.At(float64(i)), y.At(p.Ratio.Value))
		if p.Ratio.Bounded() {
			v.Bars += fmt.Sprintf("M%g %gV%g", x.At(float64(i)), y.At(p.Ratio.Low), y.At(p.Ratio.High))
		}
	}
}

func dateText(p *Point) string {
	if p.Started.IsZero() {
		return commitText(p.Commit)
	}
	return p.Started.UTC().Format("2006-01-02")
}

// bounds are the ends of a trend's axis. All estimates lie within, and so do intervals that are not
// much wider.
func bounds(t *Trend) (low, high float64) {
	ratios := ratiosOf(t)
	low, high = slices.Min(ratios), slices.Max(ratios)
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
